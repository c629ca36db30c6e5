/** Decodes scalars and enums from JSON into the values of protobuf-es. Numbers may be strings, as in proto3 JSON. */
import { type DescEnum, type DescEnumValue, getOption, hasOption, type JsonValue, ScalarType } from "@bufbuild/protobuf";
import { name as secondName } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { JsonFieldError } from "./json-field-error.ts";
import { nearestNames } from "./nearest.ts";

export type ValueDecoder = (json: JsonValue) => unknown;

export function compileScalarDecoder(scalar: ScalarType): ValueDecoder {
  switch (scalar) {
    case ScalarType.STRING:
      return parseString;
    case ScalarType.BOOL:
      return parseBool;
    case ScalarType.BYTES:
      return parseBytes;
    case ScalarType.DOUBLE:
      return parseDouble;
    case ScalarType.FLOAT:
      return parseFloat32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return (json) => parseInteger(json, 0, 0xffff_ffff);
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return (json) => parseLong(json, 0n, 0xffff_ffff_ffff_ffffn);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return (json) => parseLong(json, -0x8000_0000_0000_0000n, 0x7fff_ffff_ffff_ffffn);
    default:
      return parseInt32;
  }
}

/** Errors list the values of an enum with at most this many; of a larger one, those that are nearest to the given text. */
const MAX_LISTED_VALUES = 20;
const MAX_NEAREST_VALUES = 5;

/**
 * Accepts names and numbers. Enums are open, so a number may have no name. A capability has two names,
 * `CAP_IAM_GROUPS_LIST` and `groups.list`.
 */
export function compileEnumDecoder(desc: DescEnum): ValueDecoder {
  if (desc.typeName === "google.protobuf.NullValue") return () => 0;
  const numbers = new Map(desc.values.flatMap((value) => namesOf(value).map((name) => [name, value.number])));
  return (json) => {
    if (typeof json === "number") return parseInt32(json);
    const number = typeof json === "string" ? numbers.get(json) : undefined;
    return number ?? fail(`${expectedValues(desc, [...numbers.keys()], json)}, not ${describe(json)}`);
  };
}

function namesOf(value: DescEnumValue): string[] {
  return hasOption(value, secondName) ? [value.name, getOption(value, secondName)] : [value.name];
}

function expectedValues({ name, values }: DescEnum, names: readonly string[], json: JsonValue): string {
  if (values.length <= MAX_LISTED_VALUES) return `must be one of ${names.join(", ")}`;
  const nearest = typeof json === "string" ? nearestNames(json, names, MAX_NEAREST_VALUES) : [];
  return `must be a name of ${name}${nearest.length === 0 ? "" : `, such as ${nearest.join(", ")}`}`;
}

/**
 * Normalizes map keys, which are strings in JSON and in protobuf-es: integer keys `01` and `1` must become the same
 * key.
 */
export function compileMapKeyDecoder(scalar: ScalarType): (key: string) => string {
  if (scalar === ScalarType.STRING) return parseString;
  if (scalar === ScalarType.BOOL) return (key) => (key === "true" || key === "false" ? key : fail("the key must be true or false"));
  const decode = compileScalarDecoder(scalar);
  return (key) => String(decode(key));
}

function parseString(json: JsonValue): string {
  if (typeof json !== "string") return fail(`must be a string, not ${describe(json)}`);
  // A proto string is UTF-8, which cannot express a lone surrogate.
  return json.isWellFormed() ? json : fail("must be valid Unicode");
}

function parseBool(json: JsonValue): boolean {
  return typeof json === "boolean" ? json : fail(`must be true or false, not ${describe(json)}`);
}

function parseInt32(json: JsonValue): number {
  return parseInteger(json, -0x8000_0000, 0x7fff_ffff);
}

const DECIMAL = /^-?\d{1,20}$/;

function parseInteger(json: JsonValue, least: number, most: number): number {
  const number = typeof json === "string" && DECIMAL.test(json) ? Number(json) : json;
  if (typeof number !== "number" || !Number.isInteger(number)) return fail(`must be an integer, not ${describe(json)}`);
  // Adding zero turns -0 into 0.
  return number >= least && number <= most ? number + 0 : fail(`must be from ${least} to ${most}`);
}

function parseLong(json: JsonValue, least: bigint, most: bigint): bigint {
  if (typeof json === "number" && Number.isInteger(json) && !Number.isSafeInteger(json))
    return fail("is too large for a JSON number to hold exactly: send it as a string");
  const isInteger = typeof json === "string" ? DECIMAL.test(json) : Number.isInteger(json);
  if (!isInteger) return fail(`must be an integer, not ${describe(json)}`);
  const long = BigInt(json as string | number);
  return long >= least && long <= most ? long : fail(`must be from ${least} to ${most}`);
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function parseDouble(json: JsonValue): number {
  if (json === "NaN" || json === "Infinity" || json === "-Infinity") return Number(json);
  const number = typeof json === "string" && NUMBER.test(json) ? Number(json) : json;
  return typeof number === "number" && Number.isFinite(number) ? number : fail(`must be a number, not ${describe(json)}`);
}

const LARGEST_FLOAT = 3.4028234663852886e38;

function parseFloat32(json: JsonValue): number {
  const number = parseDouble(json);
  return !Number.isFinite(number) || Math.abs(number) <= LARGEST_FLOAT ? number : fail("is too large for a float");
}

/**
 * Decodes base64 and base64url (RFC 4648 §4 and §5), padded or not. Buffer skips invalid characters, so they are
 * rejected here, by a pattern that cannot backtrack.
 */
function parseBytes(json: JsonValue): Uint8Array {
  if (typeof json !== "string") return fail("must be base64 text");
  const padding = json.endsWith("==") ? 2 : json.endsWith("=") ? 1 : 0;
  const digits = json.length - padding;
  const isWhole = padding === 0 ? digits % 4 !== 1 : json.length % 4 === 0;
  if (!isWhole || /[^A-Za-z0-9+/_-]/.test(json.slice(0, digits))) return fail("must be base64 text");
  return new Uint8Array(Buffer.from(json, "base64"));
}

function fail(description: string): never {
  throw new JsonFieldError("", description);
}

/** The given value, shortened for an error message. */
function describe(json: JsonValue): string {
  if (Array.isArray(json)) return "a list";
  if (typeof json === "object" && json !== null) return "an object";
  const text = JSON.stringify(json);
  return text.length > 64 ? `${text.slice(0, 60)}…` : text;
}
