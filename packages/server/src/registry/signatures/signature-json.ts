/** Reads untrusted JSON of signatures. Throws SyntaxErrors, whose messages are for people. Pure. */
import { isRecord, type Json } from "../../lib/is-record.ts";
import { parseBoundedJson } from "../../lib/strict-json.ts";

/** As for SBOMs, which an attestation may contain. */
const LIMITS = { maxDepth: 100, maxValues: 1_000_000 };

export function invalid(reason: string): SyntaxError {
  return new SyntaxError(reason);
}

/** @throws SyntaxError also for JSON that would take much memory */
export function parseJson(content: Buffer): Json {
  const text = content.toString("utf8");
  let value: unknown;
  try {
    value = parseBoundedJson(text, LIMITS);
  } catch (error) {
    throw invalid(`it is not JSON within the limits: ${(error as Error).message}`);
  }
  if (!isRecord(value)) throw invalid("it is not a JSON object");
  return value;
}

export function stringOf(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalid(`it has no ${name}`);
  return value;
}
