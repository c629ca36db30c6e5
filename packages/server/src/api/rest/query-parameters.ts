/** Reads query strings and forms into request messages. Ignores fields that the path or the body sets. */
import type { DescField, DescMessage, Message } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { invalidArgument, invalidArguments } from "../../lib/errors.ts";
import { JsonFieldError } from "../../lib/json-field-error.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { MAX_IGNORED, shownName } from "./ignored-input.ts";
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

/** `refuse`: an unknown parameter is INVALID_ARGUMENT. `ignore`: the reader reports it. */
export type UnknownParameters = "refuse" | "ignore";

export interface QueryReaderOptions {
  /** Whether the path or the body sets the field with these dotted proto names. */
  readonly isBound: (name: string) => boolean;
  readonly unknown: UnknownParameters;
}

/** Returns phrases about the parameters that it ignored, at most `MAX_IGNORED`. */
export type QueryReader = (message: Message, query: string) => readonly string[];

export function compileQueryReader(schema: DescMessage, { isBound, unknown }: QueryReaderOptions): QueryReader {
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
    if (query === "") return NOTHING;
    const unknownKeys = readQuery(message, query, lookUp);
    if (unknownKeys.length === 0) return NOTHING;
    const names = parameterNames(schema, isBound);
    if (unknown === "ignore") return unknownKeys.map((key) => `ignored unknown query parameter ${shownName(key)}${didYouMean(key, names)}`);
    throw invalidArguments(
      unknownKeys.map((key) => ({ field: shownName(key), description: `unknown query parameter${didYouMean(key, names)}` })),
    );
  };
}

const NOTHING: readonly string[] = [];

/** Names for suggestions: JSON names of the fields, one message deep. */
function parameterNames(schema: DescMessage, isBound: (name: string) => boolean): string[] {
  const open = schema.fields.filter((field) => !isBound(field.name));
  return open.flatMap((field) =>
    field.message === undefined || compileTextDecoder(field) !== undefined
      ? [field.jsonName]
      : field.message.fields.map((inner) => `${field.jsonName}.${inner.jsonName}`),
  );
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

/** Returns the keys that are unknown. */
function readQuery(message: Message, query: string, lookUp: (key: string) => Parameter | undefined): readonly string[] {
  const unknown: string[] = [];
  const given = new Map<string, { readonly parameter: Parameter; readonly texts: string[] }>();
  for (const pair of query.split("&")) {
    const equals = pair.indexOf("=");
    const key = decodeQueryText(equals < 0 ? pair : pair.slice(0, equals));
    const parameter = lookUp(key);
    if (parameter === undefined && pair !== "" && unknown.length < MAX_IGNORED) unknown.push(key);
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
  return unknown;
}

function parameterValue(parameter: Parameter, texts: readonly string[]): unknown {
  const { decode, name } = parameter;
  if (decode === undefined) throw invalidArgument(name, "cannot be given as a query parameter");
  try {
    if (parameter.isList) return (COMMA_LISTS.has(name) ? splitAtCommas(texts) : texts).map(decode);
    if (parameter.isJoined) return decode(texts.filter((text) => text !== "").join(","));
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
