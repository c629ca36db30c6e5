/** Reads untrusted JSON of signatures. Throws SyntaxErrors, whose messages are for people. Pure. */
import { isRecord, type Json } from "../../lib/is-record.ts";

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

export function stringOf(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalid(`it has no ${name}`);
  return value;
}
