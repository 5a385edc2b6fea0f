// node-redis against the port given: exits 0 and prints "all good", or throws at the first surprise.
"use strict";
const assert = require("node:assert");
const { createClient } = require("redis");

async function talk(RESP) {
  const client = createClient({ socket: { host: "127.0.0.1", port: Number(process.argv[2]) }, RESP });
  client.on("error", (error) => { throw error; });
  await client.connect();
  await client.flushAll();
  assert.strictEqual(await client.set("a", "1", { EX: 100 }), "OK");
  assert.strictEqual(await client.incr("a"), 2);
  await client.hSet("h", { x: "1", y: "2" });
  assert.deepStrictEqual({ ...(await client.hGetAll("h")) }, { x: "1", y: "2" });
  await client.zAdd("z", [{ score: 1.5, value: "one" }, { score: 2, value: "two" }]);
  assert.deepStrictEqual(await client.zRangeWithScores("z", 0, -1), [{ value: "one", score: 1.5 }, { value: "two", score: 2 }]);
  const id = await client.xAdd("x", "*", { k: "v" });
  const entries = await client.xRange("x", "-", "+");
  assert.strictEqual(entries[0].id, id);

  const many = await Promise.all(Array.from({ length: 1000 }, (_, n) => client.set(`key:${n}`, String(n))));
  assert.ok(many.every((reply) => reply === "OK"));
  assert.deepStrictEqual(await client.multi().incr("a").get("a").exec(), [3, "3"]);
  let seen = 0;
  for await (const keys of client.scanIterator({ MATCH: "key:*", COUNT: 100 })) seen += [].concat(keys).length;
  assert.strictEqual(seen, 1000);
  await assert.rejects(client.lPush("a", "1"), /WRONGTYPE/);

  const listener = client.duplicate();
  await listener.connect();
  const heard = new Promise((resolve) => listener.subscribe("news", resolve).then(() => client.publish("news", "hello")));
  assert.strictEqual(await heard, "hello");
  listener.destroy();
  await client.quit().catch(() => client.destroy());
}

talk(2).then(() => talk(3)).then(() => console.log("all good"), (error) => { console.error(error); process.exit(1); });
