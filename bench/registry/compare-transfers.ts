/**
 * Measures transfers of several servers alternately, like `compare.ts`, but each round has a fixed amount of work
 * instead of a fixed duration.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Rate } from "../peers/line.ts";
import { cpuSeconds, stop } from "../process.ts";
import { median } from "../report.ts";
import { scale } from "../scale.ts";
import type { TransferResult, TransferSpec } from "./transfer.ts";

export interface TransferContender {
  readonly pid: number;
  readonly spec: TransferSpec;
  /** Bytes per transfer. */
  readonly bytes: number;
  /** Called after each round, outside of the measurement. */
  readonly cleanUp?: () => Promise<void>;
}

export interface TransferFigures {
  readonly perSecond: number;
  readonly mbPerSecond: number;
  /** Server CPU time in milliseconds. */
  readonly cpuMsPerTransfer: number;
  /** Largest growth of the resident memory since the start; NaN if /proc is not available. */
  readonly growthMb: number;
}

type Rates = Omit<TransferFigures, "growthMb">;

/** For reports that compare transfers like answers. */
export function rateOf({ perSecond, cpuMsPerTransfer }: TransferFigures): Rate {
  return { perSecond, cpuUs: cpuMsPerTransfer * 1000 };
}

const MB = 1_000_000;
const SAMPLE_MS = 20;

export async function compareTransfers(contenders: readonly TransferContender[]): Promise<TransferFigures[]> {
  const rounds: Rates[][] = [];
  const before = contenders.map(({ pid }) => residentNow(pid));
  const peak = [...before];
  // The first round warms up the file cache and the compiler. Memory growth counts from before that round.
  for (let round = 0; round <= scale.rounds; round++) {
    const figures: Rates[] = [];
    for (const [i, contender] of contenders.entries()) {
      const onMemory = (mb: number) => {
        peak[i] = Math.max(peak[i]!, mb);
      };
      figures.push(await measureOnce(contender, onMemory));
      await contender.cleanUp?.();
    }
    if (round > 0) rounds.push(figures);
  }
  return contenders.map((_, i) => {
    const all = rounds.map((figures) => figures[i]!);
    const medianOf = (key: keyof Rates) => median(all.map((figures) => figures[key]));
    const growthMb = peak[i]! - before[i]!;
    return {
      perSecond: medianOf("perSecond"),
      mbPerSecond: medianOf("mbPerSecond"),
      cpuMsPerTransfer: medianOf("cpuMsPerTransfer"),
      growthMb,
    };
  });
}

async function measureOnce({ pid, spec, bytes }: TransferContender, onMemory: (mb: number) => void): Promise<Rates> {
  const transfers = spec.clients * spec.transfers;
  const cpu = cpuSeconds(pid);
  const sampling = setInterval(() => onMemory(residentNow(pid)), SAMPLE_MS);
  try {
    const { seconds } = await makeTransfers(spec);
    const perSecond = transfers / seconds;
    const cpuMsPerTransfer = ((cpuSeconds(pid) - cpu) / transfers) * 1000;
    return { perSecond, mbPerSecond: (perSecond * bytes) / MB, cpuMsPerTransfer };
  } finally {
    clearInterval(sampling);
  }
}

async function makeTransfers(spec: TransferSpec): Promise<TransferResult> {
  const child = fork(join(import.meta.dirname, "transfer.ts"));
  child.send(spec);
  try {
    const [message] = (await once(child, "message")) as [{ result?: TransferResult; error?: string }];
    if (message.result === undefined) throw new Error(message.error);
    return message.result;
  } finally {
    child.disconnect();
    await stop(child);
  }
}

/** Resident memory in MB, read without starting a process, unlike `residentMb`. */
function residentNow(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
