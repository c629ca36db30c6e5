/** Reads untrusted JSON of signatures. Throws SyntaxErrors, whose messages are for people. Pure. */
import { isRecord } from "../../lib/is-record.ts";

export type Json = Readonly<Record<string, unknown>>;

export function invalid(reason: string): SyntaxError {
  return new SyntaxError(reason);
}

export function parseJson(content: Buffer): Json {
  let value: unknown;
  try {
    value = JSON.parse(content.toString("utf8"));
  } catch {
    throw invalid("it is not JSON");
  }
  if (!isRecord(value)) throw invalid("it is not a JSON object");
  return value;
}

export function recordOf(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

/** The objects in a list; none for anything else. */
export function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function stringOf(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalid(`it has no ${name}`);
  return value;
}
