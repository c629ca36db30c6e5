/** The grpc-timeout header (gRPC over HTTP/2, "Requests"): at most eight digits and a unit. */
import { invalidArgument } from "../../lib/errors.ts";

const MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };
/** The longest timer of node: 24 days. A longer deadline counts as none. */
export const LONGEST_MS = 2 ** 31 - 1;

/** In milliseconds; undefined for no deadline. Throws HoltError on anything else. */
export function parseGrpcTimeout(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = millisecondsOf(header);
  if (ms === undefined) throw invalidArgument("grpc-timeout", "must be up to eight digits and one of H, M, S, m, u, n");
  return ms > LONGEST_MS ? undefined : ms;
}

export function isBeyondTimers(header: string | string[] | undefined): boolean {
  return header !== undefined && (millisecondsOf(header) ?? 0) > LONGEST_MS;
}

function millisecondsOf(header: string | string[]): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(String(header)) ?? [];
  const unitMs = MS[unit ?? ""];
  return unitMs === undefined ? undefined : Number(digits) * unitMs;
}
