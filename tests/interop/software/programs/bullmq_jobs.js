// BullMQ: jobs, retries, delays, priorities, a rate limit, a flow, a repeated job and its events.
"use strict";
const assert = require("node:assert");
const { FlowProducer, Queue, QueueEvents, Worker } = require("bullmq");

const connection = { host: "127.0.0.1", port: Number(process.argv[2]), maxRetriesPerRequest: null };
const WAIT_MS = 60000;

async function main() {
  const queue = new Queue("numbers", { connection });
  const events = new QueueEvents("numbers", { connection });
  await events.waitUntilReady();
  const order = [];
  const worker = new Worker("numbers", async (job) => {
    if (job.name === "second-time" && job.attemptsMade < 1) throw new Error("on purpose");
    if (job.name === "never") throw new Error("always");
    order.push(job.data.number);
    return 2 * (job.data.number ?? job.attemptsMade);
  }, { connection, concurrency: 4, autorun: false });

  const jobs = await queue.addBulk(Array.from({ length: 50 }, (_, number) => ({ name: "double", data: { number } })));
  worker.run();
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, WAIT_MS)));
  assert.deepStrictEqual(results, jobs.map((_, number) => 2 * number));

  const again = await queue.add("second-time", {}, { attempts: 3, backoff: { type: "fixed", delay: 100 } });
  assert.strictEqual(await again.waitUntilFinished(events, WAIT_MS), 2);
  const failing = await queue.add("never", {}, { attempts: 2 });
  await assert.rejects(failing.waitUntilFinished(events, WAIT_MS), /always/);
  const later = await queue.add("double", { number: 21 }, { delay: 500 });
  assert.strictEqual(await later.waitUntilFinished(events, WAIT_MS), 42);
  assert.deepStrictEqual(await queue.getJobCounts("completed", "failed", "wait", "active", "delayed"),
    { completed: 52, failed: 1, wait: 0, active: 0, delayed: 0 });
  await worker.close();

  order.length = 0;
  await queue.add("double", { number: 3 }, { priority: 3 });
  await queue.add("double", { number: 1 }, { priority: 1 });
  await queue.add("double", { number: 2 }, { priority: 2 });
  await queue.upsertJobScheduler("tick", { every: 300, limit: 2 }, { name: "double", data: { number: 9 } });
  const limited = new Worker("numbers", async (job) => { order.push(job.data.number); },
    { connection, concurrency: 1, limiter: { max: 2, duration: 200 } });
  const end = Date.now() + WAIT_MS;
  while (order.length < 5 && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepStrictEqual(order.filter((number) => number < 9), [1, 2, 3]);
  assert.deepStrictEqual(order.filter((number) => number === 9), [9, 9]);
  await limited.close();

  const flow = new FlowProducer({ connection });
  const parents = new Worker("parents", async (job) =>
    Object.values(await job.getChildrenValues()).reduce((sum, value) => sum + value, 0), { connection });
  const children = new Worker("numbers", async (job) => job.data.number, { connection });
  const parentEvents = new QueueEvents("parents", { connection });
  await parentEvents.waitUntilReady();
  const tree = await flow.add({ name: "sum", queueName: "parents",
    children: [1, 2, 3].map((number) => ({ name: "one", queueName: "numbers", data: { number } })) });
  assert.strictEqual(await tree.job.waitUntilFinished(parentEvents, WAIT_MS), 6);

  await Promise.all([parents, children, flow, events, parentEvents].map((each) => each.close()));
  await queue.obliterate({ force: true });
  await queue.close();
}

main().then(() => { console.log("all good"); process.exit(0); }, (error) => { console.error(error); process.exit(1); });
