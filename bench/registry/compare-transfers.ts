/** Measures transfers of several servers in turn, as `compare.ts` does for small answers; here each round is so much work and not so much time. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cpuSeconds, stop } from "../process.ts";
import { median } from "../report.ts";
import { scale } from "../scale.ts";
import type { TransferResult, TransferSpec } from "./transfer.ts";

export interface TransferContender {
  readonly pid: number;
  readonly spec: TransferSpec;
  /** Of one transfer. */
  readonly bytes: number;
}

export interface TransferFigures {
  readonly perSecond: number;
  readonly mbPerSecond: number;
  /** Processor time of the server, in milliseconds. */
  readonly cpuMsPerTransfer: number;
  /** By how much resident memory was larger than before at most; NaN where the system does not tell. */
  readonly growthMb: number;
}

type Rates = Omit<TransferFigures, "growthMb">;

const MB = 1_000_000;
const SAMPLE_MS = 20;

export async function compareTransfers(contenders: readonly TransferContender[]): Promise<TransferFigures[]> {
  const rounds: Rates[][] = [];
  const before = contenders.map(({ pid }) => residentNow(pid));
  const most = [...before];
  // The first one warms up: files come into the system's cache, code is compiled. Memory counts from before it.
  for (let round = 0; round <= scale.rounds; round++) {
    const figures: Rates[] = [];
    for (const [i, contender] of contenders.entries()) {
      const onMemory = (mb: number) => {
        most[i] = Math.max(most[i]!, mb);
      };
      figures.push(await measureOnce(contender, onMemory));
    }
    if (round > 0) rounds.push(figures);
  }
  return contenders.map((_, i) => {
    const all = rounds.map((figures) => figures[i]!);
    const of = (key: keyof Rates) => median(all.map((figures) => figures[key]));
    const growthMb = most[i]! - before[i]!;
    return { perSecond: of("perSecond"), mbPerSecond: of("mbPerSecond"), cpuMsPerTransfer: of("cpuMsPerTransfer"), growthMb };
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
    const [answer] = (await once(child, "message")) as [{ result?: TransferResult; error?: string }];
    if (answer.result === undefined) throw new Error(answer.error);
    return answer.result;
  } finally {
    child.disconnect();
    await stop(child);
  }
}

/** In MB; without a process of its own, which `residentMb` needs. */
function residentNow(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}
