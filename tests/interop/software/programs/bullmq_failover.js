// BullMQ over a failover: `bullmq_failover.js SENTINEL_PORT...`. It prints "half" when its master may be killed.
"use strict";
const assert = require("node:assert");
const { Queue, Worker } = require("bullmq");
const Redis = require("ioredis");

const sentinels = process.argv.slice(2).map((port) => ({ host: "127.0.0.1", port: Number(port) }));
const connect = () => {
  const client = new Redis({ sentinels, name: "m", maxRetriesPerRequest: null, sentinelRetryStrategy: () => 100, retryStrategy: () => 100 });
  client.on("error", () => {});
  return client;
};
const COUNT = 100;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function completed(queue, count) {
  for (;;) {
    const { completed } = await queue.getJobCounts("completed");
    if (completed >= count) return;
    await sleep(50);
  }
}

async function main() {
  const connection = connect();
  const queue = new Queue("numbers", { connection });
  queue.on("error", () => {});
  const add = (from, count) => queue.addBulk(Array.from({ length: count }, (_, index) =>
    ({ name: "double", data: { number: from + index }, opts: { jobId: `job-${from + index}` } })));
  await add(0, COUNT);
  assert.strictEqual(await connection.wait(2, 60000), 2);
  const seen = new Set();
  const worker = new Worker("numbers", async (job) => {
    await sleep(20);
    seen.add(job.data.number);
    return 2 * job.data.number;
  }, { connection: connect(), lockDuration: 2000, stalledInterval: 1000, maxStalledCount: 100 });
  worker.on("error", () => {});
  await completed(queue, COUNT / 4);
  console.log("half");
  await completed(queue, COUNT);
  await add(COUNT, COUNT / 4);
  await completed(queue, COUNT + COUNT / 4);
  for (let number = 0; number < COUNT + COUNT / 4; number++) {
    assert.strictEqual((await queue.getJob(`job-${number}`)).returnvalue, 2 * number);
  }
  assert.strictEqual(seen.size, COUNT + COUNT / 4);
}

main().then(() => { console.log("all good"); process.exit(0); }, (error) => { console.error(error); process.exit(1); });
