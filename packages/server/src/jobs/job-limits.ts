/**
 * Watches what a job of a thread uses: CPU time and memory. The heap limit of V8 alone is not enough, because a thread
 * that grows by much in one step ends the whole process there.
 */
import type { Worker } from "node:worker_threads";

export interface JobLimits {
  /** CPU time of the thread, in milliseconds. */
  readonly cpuMs: number;
  /** Memory of the thread, including buffers. The limit of V8 must be several times as high. */
  readonly memoryMb: number;
}

export class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";
  readonly limit: "computing time" | "memory";
  constructor(limit: LimitExceeded["limit"]) {
    super(`the job takes too much ${limit}`);
    this.limit = limit;
  }
}

/** The thread did not report in time what its job uses: it runs native code, or the host is overloaded. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  constructor() {
    super("the thread of the job does not answer");
  }
}

/** Most jobs end before the first check. The pauses between checks grow. */
const FIRST_CHECK_MS = 50;
const MAX_PAUSE_MS = 250;
const MAX_TIMER_MS = 2 ** 31 - 1;
/**
 * Limit of times by the clock, as a multiple of the limit of CPU time, because threads share the CPU. It applies to each
 * answer of a thread, and to a job whose CPU time is unknown.
 */
const MAX_CLOCK_FACTOR = 10;

interface Usage {
  readonly cpuMs: number;
  readonly memoryMb: number;
}

/** Calls `onExceeded` at most once, until it is disposed of. */
export function watchJob(thread: Worker, limits: JobLimits, onExceeded: (error: LimitExceeded | NoAnswer) => void): Disposable {
  const watch = new AbortController();
  void watchUntil(watch.signal, thread, limits).then((error) => {
    if (error !== undefined && !watch.signal.aborted) onExceeded(error);
  });
  return { [Symbol.dispose]: () => watch.abort() };
}

/** @returns why the job must end; undefined if the watch ended before */
async function watchUntil(end: AbortSignal, thread: Worker, limits: JobLimits): Promise<LimitExceeded | NoAnswer | undefined> {
  const maxClockMs = MAX_CLOCK_FACTOR * limits.cpuMs;
  const maxCpuMs = hasCpuTime(thread) ? limits.cpuMs : maxClockMs;
  const before = cpuTimeOf(thread);
  for (let pauseMs = FIRST_CHECK_MS; await pause(pauseMs, end); pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const usage = await answerWithin(usageOf(thread, before), maxClockMs, end);
    if (usage === undefined) return new NoAnswer();
    if (usage.cpuMs > maxCpuMs) return new LimitExceeded("computing time");
    if (usage.memoryMb > limits.memoryMb) return new LimitExceeded("memory");
  }
  return undefined;
}

/** Undefined where there is no answer in that time, or the watch has ended. */
async function answerWithin<T>(answer: Promise<T>, ms: number, end: AbortSignal): Promise<T | undefined> {
  const answered = new AbortController();
  try {
    return await Promise.race([answer, pause(ms, AbortSignal.any([end, answered.signal])).then(() => undefined)]);
  } finally {
    answered.abort();
  }
}

async function usageOf(thread: Worker, before: Promise<number>): Promise<Usage> {
  const [cpuMs, heap] = await Promise.all([cpuTimeOf(thread), thread.getHeapStatistics().catch(() => undefined)]);
  return { cpuMs: cpuMs - (await before), memoryMb: heap === undefined ? 0 : (heap.used_heap_size + heap.external_memory) / 2 ** 20 };
}

/** Node before 24.6 does not measure the CPU time of a thread. */
function hasCpuTime(thread: Worker): boolean {
  return "cpuUsage" in thread;
}

/** 0 for a thread that is still starting. Time by the clock, where CPU time is unknown. */
async function cpuTimeOf(thread: Worker): Promise<number> {
  if (!hasCpuTime(thread)) return performance.now();
  const { user, system } = await thread.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1000;
}

/** @returns whether the watch goes on after the pause */
function pause(ms: number, end: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (end.aborted) return resolve(false);
    const stop = (goesOn: boolean) => {
      clearTimeout(timer);
      end.removeEventListener("abort", onEnd);
      resolve(goesOn);
    };
    const onEnd = () => stop(false);
    const timer = setTimeout(() => stop(true), Math.min(Math.max(ms, 0), MAX_TIMER_MS)).unref();
    end.addEventListener("abort", onEnd);
  });
}
