/** Reads query strings and forms into request messages. Ignores unknown parameters, and fields that the path or the body sets. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { invalidArgument } from "../../lib/errors.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";
import { compileTextDecoder, resolveFieldPath, setField, type TextDecoder } from "./message-fields.ts";

/** Filters that clients may also send as one list separated by commas. */
const COMMA_LISTS = new Set(["artifact_names", "advisory_ids"]);

interface Parameter {
  readonly path: readonly DescField[];
  /** Dotted proto names. */
  readonly name: string;
  readonly isBound: boolean;
  /** Undefined if text cannot express the field. */
  readonly decode: TextDecoder | undefined;
  readonly isList: boolean;
  /** Several values are joined into one before decoding. */
  readonly isJoined: boolean;
}

export type QueryReader = (message: Message, query: string) => void;

/** @param isBound whether the path or the body sets the field with these dotted proto names */
export function compileQueryReader(schema: DescMessage, isBound: (name: string) => boolean): QueryReader {
  // Caches only keys that name a field: valid spellings are few, but clients can send any number of other keys.
  const parameters = new Map<string, Parameter>();
  const lookUp = (key: string): Parameter | undefined => {
    const known = parameters.get(key);
    if (known !== undefined) return known;
    const path = resolveFieldPath(schema, key.split("."));
    if (path === undefined) return undefined;
    const parameter = compileParameter(path, isBound);
    parameters.set(key, parameter);
    return parameter;
  };
  return (message, query) => {
    if (query !== "") readQuery(message, query, lookUp);
  };
}

function compileParameter(path: readonly DescField[], isBound: (name: string) => boolean): Parameter {
  const field = path.at(-1) as DescField;
  const name = nameOf(path);
  const isJoined = field.message?.typeName === FieldMaskSchema.typeName;
  return { path, name, isBound: isBound(name), decode: compileTextDecoder(field), isList: field.fieldKind === "list", isJoined };
}

function nameOf(path: readonly DescField[]): string {
  return path.map((step) => step.name).join(".");
}

function readQuery(message: Message, query: string, lookUp: (key: string) => Parameter | undefined): void {
  const given = new Map<string, { readonly parameter: Parameter; readonly texts: string[] }>();
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const parameter = lookUp(decodeQueryText(equals < 0 ? pair : pair.slice(0, equals)));
    if (parameter === undefined || parameter.isBound) continue;
    const text = equals < 0 ? "" : decodeQueryText(pair.slice(equals + 1));
    const entry = given.get(parameter.name);
    if (entry === undefined) given.set(parameter.name, { parameter, texts: [text] });
    else entry.texts.push(text);
  }
  for (const { parameter, texts } of given.values()) {
    const whole = parameter.path.slice(0, -1).find((_, index) => given.has(nameOf(parameter.path.slice(0, index + 1))));
    if (whole !== undefined) throw invalidArgument(whole.name, "is given both as a whole and in parts: use one of the two");
    setField(message, parameter.path, parameterValue(parameter, texts));
  }
}

function parameterValue(parameter: Parameter, texts: readonly string[]): unknown {
  const { decode, name } = parameter;
  if (decode === undefined) throw invalidArgument(name, "cannot be given as a query parameter");
  try {
    if (parameter.isList) return (COMMA_LISTS.has(name) ? splitAtCommas(texts) : texts).map(decode);
    if (parameter.isJoined) return decode(texts.join(","));
    if (texts.length > 1) throw new JsonFieldError("", "is given more than once");
    return decode(texts[0] ?? "");
  } catch (error) {
    throw invalidArgument(name, JsonFieldError.within("", error).description);
  }
}

function splitAtCommas(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(",")).filter((text) => text !== "");
}

/** Decodes application/x-www-form-urlencoded, which queries use too (WHATWG URL §5.1). Refuses bad escapes. */
function decodeQueryText(text: string): string {
  if (!text.includes("%") && !text.includes("+")) return text;
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    throw invalidArgument("", "the query is not percent-encoded UTF-8");
  }
}
