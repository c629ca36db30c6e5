/** What synchronous work costs in CPU time of this thread, which other processes of a busy machine do not take. */

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
