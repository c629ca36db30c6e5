// Ends a test file that hangs, and names the test. `npm test` loads this into the process of every test file.
// Node's --test-timeout fails a test that waits for ever, but neither ends a test that blocks the event loop nor a process
// in which something stays open. This does both, some seconds after Node's own limit, so that the run goes on.
import { writeSync } from "node:fs";
import { relative } from "node:path";
import { afterEach, beforeEach } from "node:test";
import { isMainThread, Worker } from "node:worker_threads";

const MAX_GRACE_MS = 15_000;
const CHECK_MS = 1000;
const MAX_NAME_BYTES = 1000;

const limit = process.execArgv.map((option) => /^--test-timeout=(\d+)$/.exec(option)?.[1]).find((ms) => ms !== undefined);
// Workers of a test inherit the option that loads this file.
if (isMainThread && process.env.NODE_TEST_CONTEXT !== undefined && limit !== undefined)
  watch(Number(limit) + Math.min(Number(limit), MAX_GRACE_MS));

/** @param {number} limitMs longest time in which no test begins or ends */
function watch(limitMs) {
  const activity = { count: new Int32Array(new SharedArrayBuffer(4)), name: new Uint8Array(new SharedArrayBuffer(MAX_NAME_BYTES)) };
  const file = relative(process.cwd(), process.argv[1] ?? "");
  record(activity, "no test, before the first one");
  beforeEach((t) => record(activity, `the test "${t.fullName ?? t.name}"`));
  afterEach((t) => record(activity, `the end of the test "${t.fullName ?? t.name}"`));
  watchEventLoop(activity, { file, limitMs });
  // The thread waits longer, so that it speaks only if the event loop is blocked.
  const workerData = { activity, file, limitMs: limitMs + 5 * CHECK_MS, checkMs: CHECK_MS };
  new Worker(`(${watchThread})()`, { eval: true, workerData, execArgv: [], stdin: false }).unref();
}

/** Tells the thread that a test began or ended. */
function record({ count, name }, text) {
  name.fill(0);
  new TextEncoder().encodeInto(text, name);
  Atomics.add(count, 0, 1);
}

/** Ends the process if its event loop runs, but no test begins or ends: a hook waits, or something is open after the last test. */
function watchEventLoop({ count, name }, { file, limitMs }) {
  let seen = Atomics.load(count, 0);
  let idleMs = 0;
  setInterval(() => {
    idleMs = Atomics.load(count, 0) === seen ? idleMs + CHECK_MS : 0;
    seen = Atomics.load(count, 0);
    if (idleMs < limitMs) return;
    const last = new TextDecoder().decode(name.slice()).replace(/\0.*$/s, "");
    const open = [...new Set(process.getActiveResourcesInfo())].sort().join(", ");
    writeSync(2, `HANGS: ${file}: ${idleMs / 1000} s without a test after ${last}. Still open: ${open}.\n`);
    process.exit(1);
  }, CHECK_MS).unref();
}

/** Source of the thread, which ends the process if the event loop is blocked. */
function watchThread() {
  const { workerData } = require("node:worker_threads");
  const { activity, file, limitMs, checkMs } = workerData;
  let seen = -1;
  let idleMs = 0;
  setInterval(() => {
    const count = Atomics.load(activity.count, 0);
    idleMs = count === seen ? idleMs + checkMs : 0;
    seen = count;
    if (idleMs < limitMs) return;
    const last = new TextDecoder().decode(activity.name.slice()).replace(/\0.*$/s, "");
    require("node:fs").writeSync(2, `HANGS: ${file}: the event loop is blocked for ${idleMs / 1000} s after ${last} began.\n`);
    process.kill(process.pid, "SIGKILL");
  }, checkMs);
}
