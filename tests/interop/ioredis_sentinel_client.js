// ioredis by the sentinels at the ports given: writes for ever; "safe KEY" when both replicas have it, "error TEXT" else.
"use strict";
const Redis = require("ioredis");

const sentinels = process.argv.slice(2).map((port) => ({ host: "127.0.0.1", port: Number(port) }));
const client = new Redis({ sentinels, name: "m", commandTimeout: 1000, connectTimeout: 1000 });
client.on("error", () => {});
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function write() {
  for (let number = 1; ; number++) {
    const key = `io:${number}`;
    try {
      const replies = await client.pipeline().set(key, number).wait(2, 500).exec();
      const failed = replies.find(([error]) => error);
      if (failed) throw failed[0];
      console.log(replies[1][1] >= 2 ? `safe ${key}` : `unsafe ${key}`);
    } catch (error) {
      console.log(`error ${error.message}`);
      await pause(50);
    }
    await pause(2);
  }
}

write();
