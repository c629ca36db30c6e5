/** Reports a comparison of Holt with other programs. */
import type { Figures } from "../compare.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";

/** Answers per second, and the CPU time of the server for each answer. */
export interface Rate {
  readonly perSecond: number;
  readonly cpuUs: number;
}

export interface PeerComparison {
  readonly measured: string;
  readonly store: StoreName;
  readonly holt: Rate;
  /** Further figures of Holt. */
  readonly figure: string;
  readonly peers: readonly { readonly name: string; readonly rate: Rate }[];
  /** The least ratios to a peer by CPU time. */
  readonly least: Readonly<Record<string, number>>;
}

/** One line for each peer, or Holt's figures alone if there is none. */
export function peerLines({ measured, store, holt, figure, peers, least }: PeerComparison): Line[] {
  const own = `${short(holt.perSecond)}/s, ${figure}`;
  if (peers.length === 0) return [{ measured, store, figure: own }];
  return peers.map(({ name, rate }) => {
    const cpuRatio = rate.cpuUs / holt.cpuUs;
    const ratios = `ratio ${short(holt.perSecond / rate.perSecond)} (by CPU time ${short(cpuRatio)})`;
    const wanted = least[name];
    const line = { measured, store, figure: `${own}; ${name} ${short(rate.perSecond)}/s: ${ratios}` };
    return wanted === undefined ? line : { ...line, target: `CPU time ≥ ${wanted} × ${name}`, holds: cpuRatio >= wanted };
  });
}

export function latencyAndCpu({ p99, cpuUs }: Figures): string {
  return `p99 ${short(p99)} ms, ${short(cpuUs)} µs`;
}
