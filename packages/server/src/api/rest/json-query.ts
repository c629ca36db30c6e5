/** Converts a JSON object into a query, for endpoints that take forms. Pure. */
import type { JsonValue } from "@bufbuild/protobuf";
import { invalidArgument } from "../../lib/errors.ts";

/** A list repeats its parameter; `null` stands for a missing one. @throws INVALID_ARGUMENT for anything that a query cannot express */
export function queryFromJson(json: JsonValue): string {
  if (typeof json !== "object" || json === null || Array.isArray(json)) throw invalidArgument("", "the body must be a JSON object");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(json))
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === "object" && each !== null) throw invalidArgument(name.slice(0, 64), "must be a string or a list of strings");
      if (each !== null) query.append(name, String(each));
    }
  return query.toString();
}
