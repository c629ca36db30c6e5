/** Reads the JSON body of a request. */
import { assertFewMarks } from "../../api/element-limit.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";

/** Undefined for what is not JSON, or has an object with the same name twice. @throws INVALID_ARGUMENT for too many elements */
export function readJson(bytes: Uint8Array): { readonly body: unknown } | undefined {
  assertFewMarks(bytes);
  try {
    return { body: parseStrictJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
}
