/** Measures `holtd import` into an empty database, in records per second, from a zip with one file per record. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { folder, type StoreName } from "../data/stores.ts";
import { nodeOptions } from "../process.ts";
import { type Line, short } from "../report.ts";
import { writeRecords } from "./records.ts";
import { emptyTarget } from "./target.ts";

const PROGRAM = join(import.meta.dirname, "../../packages/server/bin/holtd.js");
const RECORDS = Number(process.env.BENCH_IMPORT_RECORDS ?? 100_000);
/** New advisories come with four events each, which vulnerabilities do not have. */
const MIN_PER_SECOND = { advisories: 8000, vulnerabilities: 5000 };

export async function importAdvisories(store: StoreName): Promise<Line[]> {
  await mkdir(folder, { recursive: true });
  const archive = join(folder, `import-${RECORDS}.zip`);
  if ((await stat(archive).catch(() => undefined)) === undefined) await writeRecords(archive, RECORDS);
  await using empty = await emptyTarget(store);
  const lines: Line[] = [];
  for (const [kind, state] of [
    ["advisories", "new"],
    ["advisories", "unchanged"],
    ["vulnerabilities", "new"],
  ] as const) {
    const perSecond = RECORDS / (await secondsOf(["import", kind, archive], empty.env));
    const target = { target: `≥ ${MIN_PER_SECOND[kind]}/s`, holds: perSecond >= MIN_PER_SECOND[kind] };
    const hasTarget = state === "new" && store === "sqlite";
    lines.push({ measured: `Import of ${RECORDS} ${state} ${kind}`, store, figure: `${short(perSecond)}/s`, ...(hasTarget && target) });
  }
  await rm(archive);
  return lines;
}

/** Run time of the command in seconds, including the start of the process. */
async function secondsOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, [...nodeOptions(), PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [errors, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  if (code !== 0) throw new Error(`holtd ${args.join(" ")} exited with ${code}:\n${errors}`);
  return (performance.now() - started) / 1000;
}
