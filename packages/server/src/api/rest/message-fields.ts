/** Sets fields of messages by path, for path variables and query parameters. Values come as text. */
import { create, type DescField, type DescMessage, type JsonValue, type Message, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { fieldsBySpelling } from "../../lib/field-spellings.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";
import { compileElementDecoder, compileFieldDecoder } from "../../lib/proto-json-decode.ts";
import { textSpellings } from "./text-spellings.ts";

type Fields = Record<string, unknown>;

/** The fields from `message` along `path`, in any spelling; undefined if a field does not exist. */
export function resolveFieldPath(message: DescMessage, path: readonly string[]): DescField[] | undefined {
  const fields: DescField[] = [];
  let at: DescMessage | undefined = message;
  for (const name of path) {
    const field: DescField | undefined = at === undefined ? undefined : fieldsBySpelling(at).get(name);
    if (field === undefined) return undefined;
    fields.push(field);
    at = field.fieldKind === "message" || field.fieldKind === "list" ? field.message : undefined;
  }
  return fields;
}

/** Sets the field at `path` and creates missing messages on the way. In a list of messages, the path goes through the first one. */
export function setField(message: Message, path: readonly DescField[], value: unknown): void {
  let at = message as unknown as Fields;
  for (const field of path.slice(0, -1)) at = child(at, field);
  const last = path.at(-1);
  if (last !== undefined) put(at, last, value);
}

function child(message: Fields, field: DescField): Fields {
  if (field.fieldKind === "list") {
    const items = message[field.localName] as Fields[];
    items[0] ??= create(field.message as DescMessage) as unknown as Fields;
    return items[0];
  }
  const present = peek(message, field);
  if (present !== undefined) return present as Fields;
  const made = create(field.message as DescMessage);
  put(message, field, made);
  return made as unknown as Fields;
}

function peek(message: Fields, field: DescField): unknown {
  if (field.oneof === undefined) return message[field.localName];
  const member = message[field.oneof.localName] as { case?: string; value?: unknown };
  return member.case === field.localName ? member.value : undefined;
}

function put(message: Fields, field: DescField, value: unknown): void {
  if (field.oneof === undefined) message[field.localName] = value;
  else message[field.oneof.localName] = { case: field.localName, value };
}

export type TextDecoder = (text: string) => unknown;

/**
 * Compiles the decoder of one value in a query; undefined for maps and most messages, which a query cannot express. The decoder throws
 * JsonFieldError without a path.
 */
export function compileTextDecoder(field: DescField): TextDecoder | undefined {
  if (field.fieldKind === "map") return undefined;
  const spelling = textSpellings.get(field.message?.typeName ?? "");
  if (spelling !== undefined) return spelling.parse;
  const scalar = scalarOf(field);
  if (scalar === ScalarType.BOOL) return parseBool;
  const decode = (field.fieldKind === "list" ? compileElementDecoder(field) : compileFieldDecoder(field)) as (json: JsonValue) => unknown;
  if (field.enum !== undefined) return (text) => decode(/^-?\d{1,10}$/.test(text) ? Number(text) : text);
  if (scalar !== undefined || isTextInJson(field.message)) return decode;
  return undefined;
}

function scalarOf(field: DescField): ScalarType | undefined {
  // protobuf-es holds a wrapper in a singular field as its scalar.
  if (field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message)) return field.message.fields[0].scalar;
  return field.scalar;
}

function isTextInJson(message: DescMessage | undefined): boolean {
  return message !== undefined && /^google\.protobuf\.(?:Timestamp|Duration|FieldMask)$/.test(message.typeName);
}

function parseBool(text: string): boolean {
  if (text === "true" || text === "1") return true;
  if (text === "false" || text === "0") return false;
  throw new JsonFieldError("", "must be true or false");
}
