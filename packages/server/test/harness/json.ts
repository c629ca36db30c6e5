/** Reads JSON answers in tests. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

export function parse(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}

/** The string, or the empty string for any other value. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
