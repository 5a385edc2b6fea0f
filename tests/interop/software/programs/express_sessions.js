// connect-redis: sessions of an Express application, kept by node-redis, touched, and destroyed.
"use strict";
const assert = require("node:assert");
const express = require("express");
const session = require("express-session");
const { RedisStore } = require("connect-redis");
const { createClient } = require("redis");

async function main() {
  const client = createClient({ url: `redis://127.0.0.1:${process.argv[2]}` });
  await client.connect();
  const store = new RedisStore({ client, prefix: "session:", ttl: 100 });
  const app = express();
  app.use(session({ store, secret: "not secret", resave: false, saveUninitialized: false }));
  app.get("/count", (request, response) => {
    request.session.count = (request.session.count ?? 0) + 1;
    response.json(request.session.count);
  });
  app.get("/leave", (request, response) => request.session.destroy(() => response.json("gone")));
  const server = await new Promise((resolve) => { const it = app.listen(0, "127.0.0.1", () => resolve(it)); });
  const base = `http://127.0.0.1:${server.address().port}`;

  const first = await fetch(`${base}/count`);
  const headers = { cookie: first.headers.get("set-cookie").split(";")[0] };
  assert.strictEqual(await first.json(), 1);
  assert.strictEqual(await (await fetch(`${base}/count`, { headers })).json(), 2);
  assert.strictEqual(await (await fetch(`${base}/count`)).json(), 1);
  assert.strictEqual((await store.ids()).length, 2);
  assert.ok((await client.ttl(`session:${(await store.ids())[0]}`)) > 0);
  assert.strictEqual(await (await fetch(`${base}/leave`, { headers })).json(), "gone");
  assert.strictEqual(await store.length(), 1);
  assert.strictEqual(await (await fetch(`${base}/count`, { headers })).json(), 1);
  await store.clear();
  assert.strictEqual(await store.length(), 0);
}

main().then(() => { console.log("all good"); process.exit(0); }, (error) => { console.error(error); process.exit(1); });
