/** Names the fields in violations as version 1 does, because handlers name them as in version 2. */
import type { DescMessage } from "@bufbuild/protobuf";
import { type FieldViolation, HoltError, invalidArguments } from "../../lib/errors.ts";
import { type Differences, pairFields } from "./field-pairs.ts";

/** A message in both versions. */
export interface MessagePair {
  readonly v1: DescMessage;
  readonly v2: DescMessage;
}

/** @param pairs messages that paths of fields begin in: the resource before the request */
export function translateError(error: unknown, pairs: readonly MessagePair[], differences: Differences): unknown {
  const violations = error instanceof HoltError ? error.details.fieldViolations : undefined;
  return violations === undefined ? error : invalidArguments(violations.map((each) => translate(each, pairs, differences)));
}

/** The resource of a request, if it has one, and the request. */
export function pairsOf({ v1, v2 }: MessagePair, differences: Differences): MessagePair[] {
  const resources = pairFields(v2, v1, differences).flatMap((pair) =>
    pair.v1.fieldKind === "message" && pair.v2.fieldKind === "message" ? [{ v1: pair.v1.message, v2: pair.v2.message }] : [],
  );
  return [...resources, { v1, v2 }];
}

function translate({ field, description }: FieldViolation, pairs: readonly MessagePair[], differences: Differences): FieldViolation {
  const path = translatePath(field, pairs, differences);
  const before = lastOf(field);
  const after = lastOf(path);
  // Most descriptions begin with the name of the field.
  return { field: path, description: description.startsWith(`${before} `) ? after + description.slice(before.length) : description };
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Parts that are not names of fields, such as the keys of maps, stay as they are. */
function translatePath(path: string, pairs: readonly MessagePair[], differences: Differences): string {
  const [, name = "", index = "", rest = ""] = /^([a-z0-9_]+)(\[[^\]]*\])?(?:\.(.*))?$/s.exec(path) ?? [];
  for (const { v1, v2 } of pairs) {
    const found = pairFields(v2, v1, differences).find((pair) => pair.v2.name === name);
    if (found === undefined) continue;
    const { message: inV1 } = found.v1;
    const { message: inV2 } = found.v2;
    const inner = inV1 === undefined || inV2 === undefined ? [] : [{ v1: inV1, v2: inV2 }];
    return found.v1.name + index + (rest === "" ? "" : `.${translatePath(rest, inner, differences)}`);
  }
  return path;
}
