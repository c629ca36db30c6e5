/** When a worker claims, runs, renews and stops. The lease is a stand-in; lease.test.ts tests the real one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { never, until } from "../../test/harness/wait.ts";
import { createLog } from "../lib/log.ts";
import type { Lease } from "./lease.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

interface Fixture {
  readonly worker: Worker<string>;
  /** Rows that the next claims find. */
  readonly due: string[];
  /** Rows whose lease another server has. */
  readonly lost: Set<string>;
  /** What happened, in order. */
  readonly events: string[];
}

function startWorker(options: Partial<WorkerOptions<string>> = {}): Fixture {
  const due: string[] = [];
  const lost = new Set<string>();
  const events: string[] = [];
  const lease = {
    durationMs: 600_000,
    renew: async (keys: readonly string[]) => new Set(keys.filter((key) => !lost.has(key))),
    releaseLeftBehind: async () => void events.push("released what was left behind"),
    releaseAll: async () => void events.push("released all"),
  } as unknown as Lease;
  const worker = new Worker<string>({
    name: "test",
    log: createLog("silent"),
    lease,
    renewMs: 10,
    keyOf: (claim) => claim,
    claim: async () => ({ claimed: due.splice(0), nextMs: Number.POSITIVE_INFINITY }),
    async run(claim, signal) {
      events.push(`began ${claim}`);
      await sleep(600_000, undefined, { signal }).catch(() => {});
      events.push(`${claim}: ${(signal.reason as Error).name}`);
    },
    ...options,
  });
  return { worker, due, lost, events };
}

test("a worker releases what was left behind before its first claim, and what it has when it stops", async () => {
  const { worker, due, events } = startWorker();
  due.push("a", "b");
  await until(() => events.includes("began b"));
  await worker[Symbol.asyncDispose]();
  const expected = ["released what was left behind", "began a", "began b", "a: Stopping", "b: Stopping", "released all"];
  assert.deepEqual(events, expected);
});

test("a worker aborts a run whose lease is lost, and a run that it is told to abort", async () => {
  const { worker, due, lost, events } = startWorker();
  await using _ = worker;
  due.push("a", "b");
  worker.wake();
  await until(() => events.length >= 3);
  lost.add("a");
  await until(() => events.length >= 4);
  assert.deepEqual(events.slice(3), ["a: LostLease"]);
  worker.abort("b");
  await until(() => events.length >= 5);
  assert.deepEqual(events.slice(4), ["b: LostLease"]);
});

test("a row that is claimed again while it is worked on is worked on again after that run has ended", async () => {
  const { worker, due, events } = startWorker();
  await using _ = worker;
  due.push("a");
  worker.wake();
  await until(() => events.includes("began a"));
  due.push("a");
  worker.wake();
  await until(() => events.length >= 4);
  assert.deepEqual(events.slice(1), ["began a", "a: LostLease", "began a"]);
});

test("a worker claims nothing while it has as many runs as it may, and claims when one of them ends", async () => {
  const running: (() => void)[] = [];
  let claims = 0;
  const { worker } = startWorker({
    maxRuns: 1,
    claim: async () => ({ claimed: [`${claims++}`], nextMs: 0 }),
    run: () => new Promise((resolve) => void running.push(resolve)),
  });
  await until(() => running.length === 1);
  await never(() => {
    worker.wake();
    assert.equal(claims, 1);
  });
  running[0]?.();
  await until(() => running.length === 2);
  assert.equal(claims, 2);
  const stopped = worker[Symbol.asyncDispose]();
  running[1]?.();
  await stopped;
});

test("a run that fails does not stop the worker", async () => {
  let claims = 0;
  const { worker } = startWorker({
    claim: async () => ({ claimed: [`${claims++}`], nextMs: 5 }),
    run: () => Promise.reject(new Error("no")),
  });
  await until(() => claims > 1);
  await worker[Symbol.asyncDispose]();
});

test("a worker aborts a run whose lease ends before it could be renewed", async () => {
  const lease = {
    durationMs: 20,
    renew: () => new Promise<never>(() => {}),
    releaseLeftBehind: async () => {},
    releaseAll: async () => {},
  } as unknown as Lease;
  const { worker, due, events } = startWorker({ lease });
  due.push("a");
  worker.wake();
  await until(() => events.includes("a: LostLease"));
});

test("a worker no longer holds a row once its lease has ended, before the run is told", async () => {
  let now = 0;
  const { worker, due, events } = startWorker({ now: () => now, renewMs: 600_000 });
  await using _ = worker;
  assert.equal(worker.holds("a"), false);
  due.push("a");
  worker.wake();
  await until(() => events.includes("began a"));
  now = 599_999;
  assert.equal(worker.holds("a"), true);
  now = 600_000;
  assert.equal(worker.holds("a"), false);
  assert.equal(worker.isRunning("a"), true);
});
