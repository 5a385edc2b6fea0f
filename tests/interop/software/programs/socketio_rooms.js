// socket.io on two servers with the Redis adapter, plain and sharded: broadcasts, rooms, and questions across servers.
"use strict";
const assert = require("node:assert");
const { createServer } = require("node:http");
const { createClient } = require("redis");
const { createAdapter, createShardedAdapter } = require("@socket.io/redis-adapter");
const { Server } = require("socket.io");
const { io } = require("socket.io-client");

const url = `redis://127.0.0.1:${process.argv[2]}`;

async function startServer(make) {
  const [publisher, subscriber] = [createClient({ url }), createClient({ url })];
  for (const client of [publisher, subscriber]) client.on("error", (error) => { throw error; });
  await Promise.all([publisher.connect(), subscriber.connect()]);
  const http = createServer();
  const server = new Server(http, { adapter: make(publisher, subscriber) });
  server.on("connection", (socket) => socket.join("room"));
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return { server, port: http.address().port, close: async () => {
    await server.close();
    await Promise.all([publisher.close(), subscriber.close()]);
  } };
}

async function check(make) {
  const [left, right] = [await startServer(make), await startServer(make)];
  const clients = [left, left, right].map(({ port }) => io(`http://127.0.0.1:${port}`, { transports: ["websocket"] }));
  await Promise.all(clients.map((client) => new Promise((resolve) => client.on("connect", resolve))));
  while ((await left.server.in("room").fetchSockets()).length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  const heard = clients.map((client) => new Promise((resolve) => client.once("news", resolve)));
  left.server.to("room").emit("news", "hello");
  assert.deepStrictEqual(await Promise.all(heard), ["hello", "hello", "hello"]);
  right.server.on("question", (answer) => answer("right"));
  assert.deepStrictEqual(await left.server.serverSideEmitWithAck("question"), ["right"]);
  clients[2].on("ask", (answer) => answer(42));
  clients[0].on("ask", (answer) => answer(1));
  clients[1].on("ask", (answer) => answer(1));
  assert.deepStrictEqual((await left.server.timeout(30000).emitWithAck("ask")).sort(), [1, 1, 42]);
  for (const client of clients) client.close();
  await Promise.all([left.close(), right.close()]);
}

check(createAdapter).then(() => check(createShardedAdapter))
  .then(() => { console.log("all good"); process.exit(0); }, (error) => { console.error(error); process.exit(1); });
