/** Parses an untrusted request body as JSON, for REST and Connect: it must be UTF-8 and valid, and must not nest deeper than the limit. */
import { isUtf8 } from "node:buffer";
import type { JsonValue } from "@bufbuild/protobuf";
import { invalidArgument } from "../lib/errors.ts";
import { assertFewMarks } from "./element-limit.ts";

/** Nesting depth; equals the limit of protobuf-es for binary messages. */
const MAX_DEPTH = 100;

/** An empty body and `null` stand for an empty object. The last of several equal keys counts. */
export function parseJsonBody(body: Buffer): JsonValue {
  assertFewMarks(body);
  if (!isUtf8(body)) throw invalidArgument("", "the body is not valid UTF-8");
  const text = body.toString("utf8");
  if (text.trim() === "") return {};
  const json = parse(text);
  if (!isWithin(json, MAX_DEPTH)) throw invalidArgument("", `the body nests more than ${MAX_DEPTH} levels`);
  return json ?? {};
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidArgument("", `the body is not valid JSON${withoutExcerpt(error instanceof Error ? error.message : String(error))}`);
  }
}

/** V8 quotes the text around some errors. The log has the messages of errors, but must not have parts of bodies, which may be secrets. */
function withoutExcerpt(message: string): string {
  const problem = message.replace(/(?:^|, )(?:\.\.\.)?".*$/s, "");
  return problem === "" ? "" : `: ${problem}`;
}

/** Stops at the limit, so that the check itself cannot overflow the stack. */
function isWithin(json: JsonValue, levels: number): boolean {
  if (typeof json !== "object" || json === null) return true;
  if (levels === 0) return false;
  for (const value of Array.isArray(json) ? json : Object.values(json)) {
    if (typeof value === "object" && !isWithin(value, levels - 1)) return false;
  }
  return true;
}
