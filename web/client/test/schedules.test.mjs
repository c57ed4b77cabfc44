// Many random schedules. FORMLEDGER_SEED runs one of them again; FORMLEDGER_SCHEDULES
// says how many there are. They run in workers, where the test runner's own hooks on
// every promise do not slow them down.

import { test } from "node:test";
import assert from "node:assert/strict";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";
import { run } from "./play.mjs";

const SCHEDULES = Number(process.env.FORMLEDGER_SCHEDULES || 10_000);
const SEED = process.env.FORMLEDGER_SEED;
const WORKERS = 2;

/** In a worker: every seed of its share, up to the first that breaks a law. */
async function share({ seeds }) {
  const sums = { schedules: 0, presses: 0, posts: 0, mails: 0 };
  try {
    for (const seed of seeds) {
      const one = await run(seed);
      sums.schedules++;
      for (const name in one) sums[name] += one[name];
    }
    parentPort.postMessage({ sums });
  } catch (fault) {
    parentPort.postMessage({ fault: fault.message });
  }
}

function begin(seeds) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { seeds } });
  return new Promise((resolve, reject) => {
    worker.on("message", resolve);
    worker.on("error", reject);
    worker.on("exit", () => reject(new Error("a worker ended without a word")));
  });
}

function main() {
  test(`the laws hold in ${SEED ? "the schedule of seed " + SEED : SCHEDULES + " random schedules"}`, async (t) => {
    const seeds = SEED ? [Number(SEED)] : Array.from({ length: SCHEDULES }, (_, i) => i + 1);
    const shares = Array.from({ length: WORKERS }, (_, n) => seeds.filter((_, i) => i % WORKERS === n));
    const results = await Promise.all(shares.map(begin));
    for (const { fault } of results) assert.equal(fault, undefined, fault);
    const sum = (name) => results.reduce((all, { sums }) => all + sums[name], 0);
    assert.equal(sum("schedules"), seeds.length);
    t.diagnostic(`${sum("schedules")} schedules: ${sum("presses")} presses of Send, ${sum("posts")} posts, ${sum("mails")} mails`);
  });
}

await (isMainThread ? main() : share(workerData));
