/** `holtd import` as an operator runs it, into an empty database: records per second, of a zip with a file for each. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { folder, type StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { writeRecords } from "./records.ts";
import { emptyTarget } from "./target.ts";

const PROGRAM = join(import.meta.dirname, "../../packages/server/bin/holtd.js");
const RECORDS = Number(process.env.BENCH_IMPORT_RECORDS ?? 100_000);
const GOAL = 5000;

export async function importAdvisories(store: StoreName): Promise<Line[]> {
  await mkdir(folder, { recursive: true });
  const archive = join(folder, `import-${RECORDS}.zip`);
  if ((await stat(archive).catch(() => undefined)) === undefined) await writeRecords(archive, RECORDS);
  await using target = await emptyTarget(store);
  const lines: Line[] = [];
  for (const [kind, what] of [
    ["advisories", "new"],
    ["advisories", "known"],
    ["vulnerabilities", "new"],
  ] as const) {
    const perSecond = RECORDS / (await secondsOf(["import", kind, archive], target.env));
    const goal = what === "new" && store === "sqlite" ? { target: `≥ ${GOAL}/s`, holds: perSecond >= GOAL } : {};
    lines.push({ what: `Import of ${RECORDS} ${what} ${kind}`, store, figure: `${short(perSecond)}/s`, ...goal });
  }
  await rm(archive);
  return lines;
}

/** With the start of the process. */
async function secondsOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, ["--max-semi-space-size=8", PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [complaint, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  if (code !== 0) throw new Error(`holtd ${args.join(" ")} ended with ${code}:\n${complaint}`);
  return (performance.now() - started) / 1000;
}
