// node-redis and ioredis by TLS, with a certificate, on the port given: prints "all good", or what went wrong.
"use strict";
const assert = require("node:assert");
const { readFileSync } = require("node:fs");
const { createClient } = require("redis");
const Redis = require("ioredis");

const [port, caFile, certificateFile] = process.argv.slice(2);
const files = { ca: readFileSync(caFile), cert: readFileSync(certificateFile), key: readFileSync(certificateFile) };

async function nodeRedis() {
  const client = createClient({ url: `rediss://localhost:${port}`, socket: { tls: true, ...files } });
  client.on("error", (error) => { throw error; });
  await client.connect();
  const many = await Promise.all(Array.from({ length: 1000 }, (_, n) => client.set(`node:${n}`, "x".repeat(n))));
  assert.ok(many.every((reply) => reply === "OK"));
  assert.strictEqual((await client.get("node:999")).length, 999);
  const listener = client.duplicate();
  await listener.connect();
  const heard = new Promise((resolve) => listener.subscribe("news", resolve).then(() => client.publish("news", "hello")));
  assert.strictEqual(await heard, "hello");
  listener.destroy();
  await client.quit().catch(() => client.destroy());
}

async function ioRedis() {
  const client = new Redis(`rediss://localhost:${port}`, { tls: files });
  const pipeline = client.pipeline();
  for (let n = 0; n < 1000; n++) pipeline.set(`io:${n}`, "y".repeat(n));
  assert.ok((await pipeline.exec()).every(([error, reply]) => error === null && reply === "OK"));
  assert.strictEqual((await client.get("io:999")).length, 999);
  await client.quit();
}

nodeRedis().then(ioRedis).then(() => console.log("all good"), (error) => { console.error(error); process.exit(1); });
