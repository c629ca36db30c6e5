import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../../../server/test/harness/holtd.ts";
import { withLock } from "./config-folder.ts";

test("a process that finds the lock of a killed one does not remove the lock that another one has taken meanwhile", async (context) => {
  await using folder = await temporaryFolder();
  process.env.HOLT_CONFIG_DIR = folder.path;
  context.after(() => delete process.env.HOLT_CONFIG_DIR);
  const lock = join(folder.path, ".credentials.lock");
  const { pid: killed } = spawnSync(process.execPath, ["-e", "0"]);
  writeFileSync(lock, String(killed));
  const other = String(process.ppid);
  const events: string[] = [];
  const { kill } = process;
  // The parent of this process stands for the other shell, which is faster.
  context.mock.method(process, "kill", (pid: number, signal: number) => {
    if (pid !== killed) events.push("waits");
    else writeFileSync(lock, other);
    if (events.length === 3) rmSync(lock);
    return kill(pid, signal);
  });
  await withLock("credentials", async () => void events.push(readFileSync(lock, "utf8")));
  assert.deepEqual(events, ["waits", "waits", "waits", String(process.pid)]);
});

test("a command ends with an explanation if a living process seems to hold a lock for long", async (context) => {
  await using folder = await temporaryFolder();
  process.env.HOLT_CONFIG_DIR = folder.path;
  context.after(() => delete process.env.HOLT_CONFIG_DIR);
  const lock = join(folder.path, ".credentials.lock");
  // The parent of this process stands for one that has got the process ID of a killed command.
  writeFileSync(lock, String(process.ppid));
  const longAgo = Date.now() / 1000 - 3600;
  utimesSync(lock, longAgo, longAgo);
  const waiting = withLock("credentials", async () => assert.fail("two commands hold the lock"));
  await assert.rejects(waiting, { name: "Failure", message: `${lock} has been locked for more than 5 minutes`, advice: /delete the file/ });
  assert.ok(existsSync(lock));
});
