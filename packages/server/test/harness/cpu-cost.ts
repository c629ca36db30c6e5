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

/** CPU milliseconds of the reference work on a normal machine. There, Python counts to ten million in 0.36 s. */
const NORMAL_REFERENCE_MS = 16;
const REFERENCE = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ id: (i * 7919) % 20_011, name: `row-${i}` })));

/** The speed of a machine changes, so this is the most that was measured in this process. */
let slowest = 1;

/**
 * How many times more CPU time the same work takes on this machine than on a normal one, and at least 1. It makes absolute
 * limits of CPU time hold on slow machines. Each call measures for 150 ms or more.
 */
export function slowness(): number {
  const cost = cpuCost(() => JSON.stringify((JSON.parse(REFERENCE) as { readonly id: number }[]).sort((a, b) => a.id - b.id)));
  slowest = Math.max(slowest, cost / NORMAL_REFERENCE_MS);
  return slowest;
}

/** Whether work that took `cpuMs` takes at most `maxMs` on a normal machine. Measures this machine again only if that decides. */
export function isWithin(maxMs: number, cpuMs: number): boolean {
  return cpuMs <= maxMs * slowest || cpuMs <= maxMs * slowness();
}

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
