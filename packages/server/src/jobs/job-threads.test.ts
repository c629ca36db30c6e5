/** Jobs on threads whose modules are made for the test. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { until } from "../../test/harness/wait.ts";
import { invalidArgument } from "../lib/errors.ts";
import { JobThreads } from "./job-threads.ts";

const side = new URL("./job-thread.ts", import.meta.url);
const never = new AbortController().signal;

/** @param work the body of a function of the job and the conversation */
function threadsThat(work: string): JobThreads<string, string, string, string> {
  const text = `import { doJobs } from ${JSON.stringify(side.href)}; doJobs(async (job, { say, reply }) => { ${work} });`;
  return new JobThreads({ module: new URL(`data:text/javascript,${encodeURIComponent(text)}`), name: "test", maxHeapMb: 64 });
}

test("a thread does one job after the other, gets replies, and reports errors", async () => {
  await using threads = threadsThat('if (job === "bad") throw new Error("no"); say(job); return [job, await reply()].join(" ");');
  const run = (job: string) => threads.run(job, (said, reply) => reply(`heard ${said}`), never);
  assert.equal(await run("a"), "a heard a");
  assert.equal(await run("b"), "b heard b");
  await assert.rejects(run("bad"), { message: "no" });
  assert.deepEqual(await Promise.all([run("c"), run("d")]), ["c heard c", "d heard d"]);
});

test("the young generation of a thread grows beyond the limit of Node's options", async () => {
  setFlagsFromString("--max-semi-space-size=1");
  await using threads = threadsThat(`
    const { getHeapSpaceStatistics } = await import("node:v8");
    for (let kept = [], i = 0; i < 2_000_000; i++) if (kept.push({ i }) > 50_000) kept = [];
    return String(getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size);
  `);
  const bytes = Number(await threads.run("", () => {}, never));
  assert.ok(bytes > 4 * 1024 * 1024, `${bytes} bytes`);
});

test("a job is done by a new thread if the last one exited by itself", async (t) => {
  const exits = countExits(t);
  await using threads = threadsThat("setTimeout(() => process.exit(), 1); return job;");
  const run = (job: string) => threads.run(job, () => {}, never);
  assert.equal(await run("a"), "a");
  await until(() => exits.count === 1);
  assert.equal(await run("b"), "b");
});

test("a job is ended by its signal, and by an error of its listener", async () => {
  await using threads = threadsThat('say(job); await reply(); return "";');
  await assert.rejects(
    threads.run("a", () => {}, AbortSignal.timeout(50)),
    { name: "TimeoutError" },
  );
  await assert.rejects(
    threads.run(
      "a",
      () => {
        throw new Error("enough");
      },
      never,
    ),
    { message: "enough" },
  );
});

test("a thread whose job still runs is ended, also if its listener or its signal reports a HoltError", async (t) => {
  const exits = countExits(t);
  await using threads = threadsThat('say(job); await reply(); return "";');
  const refusal = invalidArgument("content", "refused");
  const refuse = () => {
    throw refusal;
  };
  await assert.rejects(threads.run("a", refuse, never), refusal);
  assert.equal(exits.count, 1);
  const stop = new AbortController();
  await assert.rejects(
    threads.run("b", () => stop.abort(refusal), stop.signal),
    refusal,
  );
  assert.equal(exits.count, 2);
});

test("a thread whose job threw a HoltError does the next job", async (t) => {
  const exits = countExits(t);
  const errors = new URL("../lib/errors.ts", import.meta.url).href;
  await using threads = threadsThat(
    `if (job === "b") return job; const { invalidArgument } = await import(${JSON.stringify(errors)}); throw invalidArgument("content", "refused");`,
  );
  const run = (job: string) => threads.run(job, () => {}, never);
  await assert.rejects(run("a"), { name: "HoltError" });
  assert.equal(await run("b"), "b");
  assert.equal(exits.count, 0);
});

/** Counts the threads that exited by themselves: they emit `exit` after the pool has noticed it. */
function countExits(t: TestContext): { count: number } {
  const exits = { count: 0 };
  const { emit } = Worker.prototype;
  t.mock.method(Worker.prototype, "emit", function (this: Worker, ...args: Parameters<typeof emit>) {
    const isHeard = emit.apply(this, args);
    if (args[0] === "exit") exits.count++;
    return isHeard;
  });
  return exits;
}
