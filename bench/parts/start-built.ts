/** Compares the built program with `npm start`: time and CPU time until it is ready, memory then, and the CPU time of a command. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { databaseOn, type StoreName } from "../data/stores.ts";
import { cpuSeconds, residentMb, stop } from "../process.ts";
import { type Line, median, short } from "../report.ts";

const root = join(import.meta.dirname, "../..");
const STARTS = 5;
/** Memory settles within this time after the server is ready. */
const SETTLE_MS = 1000;

interface Figures {
  readonly readyMs: number;
  readonly startCpu: number;
  readonly memoryMb: number;
  readonly tokenCpu: number;
}

const programs = {
  checkout: [process.execPath, ...packageJson.scripts.start.split(" ").slice(1)],
  built: [join(root, "dist/bin/holtd")],
} as const;

/** @throws Error unless `npm run build` has made `dist` */
export async function startBuilt(store: StoreName): Promise<Line[]> {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-start-"));
  const url = await databaseOn(store, "bench_start_built");
  const figures: Record<keyof typeof programs, Figures[]> = { checkout: [], built: [] };
  try {
    // The first start of each creates the data and fills the cache of compiled code.
    for (let round = 0; round <= STARTS; round++)
      for (const name of ["checkout", "built"] as const) {
        const measured = await measure(programs[name], { HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL: url });
        if (round > 0) figures[name].push(measured);
      }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
  return [
    lineOf("Start to ready, built", store, figures, { key: "readyMs", unit: "ms", limit: 0.5 }),
    lineOf("CPU time of a start, built", store, figures, { key: "startCpu", unit: "s", limit: 0.5 }),
    lineOf("CPU time of `token`, built", store, figures, { key: "tokenCpu", unit: "s", limit: 0.5 }),
    lineOf("Resident memory when ready, built", store, figures, { key: "memoryMb", unit: "MB", limit: 0.7 }),
  ];
}

async function measure([program = "", ...args]: readonly string[], settings: Readonly<Record<string, string>>): Promise<Figures> {
  const env = { PATH: process.env.PATH ?? "", HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_LOG_LEVEL: "warn", ...settings };
  const started = performance.now();
  const server = spawn(program, args, { env, cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  const end = once(server, "exit").then(([code]) => Promise.reject(new Error(`${program} exited with ${code}`)));
  end.catch(() => {});
  try {
    await Promise.race([once(server.stdout, "data"), end]);
    const readyMs = performance.now() - started;
    const startCpu = cpuSeconds(server.pid ?? 0);
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const memoryMb = await residentMb(server.pid ?? 0);
    return { readyMs, startCpu, memoryMb, tokenCpu: await childCpuSeconds([program, ...args, "token"], env) };
  } finally {
    await stop(server);
  }
}

/** CPU seconds of a command, which the shell's `times` reports on the last line. */
export async function childCpuSeconds(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { stdout } = await promisify(execFile)("sh", ["-c", '"$@" > /dev/null && times', "sh", ...command], { env, cwd: root });
  const times =
    stdout
      .trim()
      .split("\n")
      .at(-1)
      ?.matchAll(/(\d+)m([\d.]+)s/g) ?? [];
  return [...times].reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}

function lineOf(
  measured: string,
  store: string,
  { checkout, built }: Readonly<Record<keyof typeof programs, readonly Figures[]>>,
  { key, unit, limit }: { readonly key: keyof Figures; readonly unit: string; readonly limit: number },
): Line {
  const [before, after] = [median(checkout.map((figures) => figures[key])), median(built.map((figures) => figures[key]))];
  const ratio = after / before;
  const digits = (value: number) => (unit === "s" ? value.toFixed(2) : short(value));
  const figure = `${digits(after)} ${unit}, ${ratio.toFixed(2)} × ${digits(before)} ${unit} of \`npm start\``;
  return { measured, store, figure, target: `≤ ${limit} ×`, holds: ratio <= limit };
}
