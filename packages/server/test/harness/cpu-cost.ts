/** Measures the CPU time of work, to which other processes of a busy machine do not add. */
import { existsSync, readFileSync } from "node:fs";

const ROUNDS = 3;
/** CPU time is counted in steps of up to 10 ms. */
const MIN_MEASURED_MS = 50;

/** CPU milliseconds of one run, in the cheapest of several rounds: compiling and collecting garbage disturb some. */
export function cpuCost(work: () => void): number {
  return Math.min(...Array.from({ length: ROUNDS }, () => meanCost(work)));
}

/** How many times more the work costs for 16 times the size: about 16 if it is linear, 256 if it is quadratic. */
export function growth(smallSize: number, work: (size: number) => void): number {
  const small = cpuCost(() => work(smallSize));
  return cpuCost(() => work(16 * smallSize)) / small;
}

/** Between linear and quadratic growth. */
export const MAX_LINEAR_GROWTH = 64;

/** CPU milliseconds of this thread. */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Repeats the work until it has cost enough to be measured. */
function meanCost(work: () => void): number {
  const begin = cpuTime();
  for (let runs = 1; ; runs++) {
    work();
    const cost = cpuTime() - begin;
    if (cost >= MIN_MEASURED_MS) return cost / runs;
  }
}

/** Clock ticks per second in /proc, on every Linux. */
const TICKS_PER_SECOND = 100;

/** CPU milliseconds of a process since its start; 0 where the system has no /proc. */
export function cpuTimeOfProcess(pid: number): number {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return 0;
  // proc(5): user and system time are fields 14 and 15, and the name in field 2 may have spaces.
  const fields = readFileSync(path, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS_PER_SECOND;
}
