/**
 * Encodes and decodes the google.protobuf types that have a JSON form of their own. Timestamps are handled here (RFC
 * 3339, three fraction digits); protobuf-es handles the other types.
 */
import { create, type DescMessage, fromJson, type JsonValue, type Message, type MessageShape, toJson } from "@bufbuild/protobuf";
import { protoSnakeCase } from "@bufbuild/protobuf/reflect";
import { type FieldMask, FieldMaskSchema, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { rfc3339 } from "./rfc3339.ts";

/**
 * Types that protobuf-es handles, with the error message for invalid values. An Any must be empty, because the contract
 * defines no type that it could hold.
 */
const DELEGATED: ReadonlyMap<string, string> = new Map([
  ["google.protobuf.Any", "must be empty"],
  ["google.protobuf.Duration", 'must be a duration in seconds such as "604800s"'],
  ["google.protobuf.FieldMask", "must be field paths separated by commas"],
  ["google.protobuf.Struct", "must be an object"],
  ["google.protobuf.Value", "must be a JSON value that nests less than 100 levels"],
  ["google.protobuf.ListValue", "must be a list"],
]);

/** Whether the message is of the package google.protobuf, whose JSON forms are not made of fields. */
export function isWellKnown({ file }: DescMessage): boolean {
  return file.proto.package === "google.protobuf";
}

export function compileWellKnownEncoder(schema: DescMessage): ((message: never) => string) | undefined {
  if (schema.typeName === TimestampSchema.typeName) return encodeTimestamp;
  if (!DELEGATED.has(schema.typeName)) return undefined;
  return (message: Message) => JSON.stringify(toJson(schema, message as MessageShape<typeof schema>));
}

/** The decoder throws a plain Error; the caller adds the path of the field. */
export function compileWellKnownDecoder(schema: DescMessage): ((json: JsonValue) => Message) | undefined {
  if (schema.typeName === TimestampSchema.typeName) return parseTimestamp;
  if (schema.typeName === FieldMaskSchema.typeName) return parseFieldMask;
  const hint = DELEGATED.get(schema.typeName);
  return hint === undefined ? undefined : (json) => delegate(schema, json, hint);
}

function delegate(schema: DescMessage, json: JsonValue, hint: string): Message {
  try {
    return fromJson(schema, json);
  } catch (cause) {
    throw new Error(hint, { cause });
  }
}

/**
 * Accepts snake_case paths too: the JSON mapping defines camelCase only, but clients also send proto names. Keeps empty
 * paths, as in `name,`, so that they are refused as in the binary form.
 */
function parseFieldMask(json: JsonValue): FieldMask {
  if (typeof json !== "string") throw new Error("must be field paths separated by commas");
  const paths = json.trim() === "" ? [] : json.split(",");
  return create(FieldMaskSchema, { paths: paths.map((path) => protoSnakeCase(path.trim())) });
}

/** 0001-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: the range of google.protobuf.Timestamp. */
const EARLIEST = -62_135_596_800_000;
const LATEST = 253_402_300_799_999;

function encodeTimestamp(timestamp: Timestamp): string {
  const ms = Number(timestamp.seconds) * 1000 + Math.floor(timestamp.nanos / 1_000_000);
  if (!(ms >= EARLIEST && ms <= LATEST)) throw new Error(`a timestamp of ${timestamp.seconds} s is outside the years 1 to 9999`);
  return `"${rfc3339(ms)}"`;
}

const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):([0-5]\d))$/i;

function parseTimestamp(json: JsonValue): Timestamp {
  const text = String(json);
  // Fast path for timestamps that Holt wrote itself.
  const canonical = text.length === 24 ? Date.parse(text) : Number.NaN;
  if (canonical >= EARLIEST && canonical <= LATEST && rfc3339(canonical) === text) return timestamp(canonical, nanosOf(canonical));
  const match = typeof json === "string" ? RFC3339.exec(text) : null;
  const [, local = "", fraction = "", sign = "+", hours = "0", minutes = "0"] = match ?? [];
  const utc = local.toUpperCase();
  const atUtc = Date.parse(`${utc}Z`);
  // Date.parse reads February 30 as March 2; RFC 3339 §5.7 does not allow that day.
  if (Number.isNaN(atUtc) || rfc3339(atUtc).slice(0, 19) !== utc) throw new Error("must be an RFC 3339 time such as 2026-03-27T13:55:00Z");
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000;
  const ms = sign === "-" ? atUtc + offset : atUtc - offset;
  if (ms < EARLIEST || ms > LATEST) throw new Error("must be in the years 1 to 9999");
  return timestamp(ms, Number(fraction.padEnd(9, "0")));
}

function nanosOf(ms: number): number {
  return (ms - Math.floor(ms / 1000) * 1000) * 1_000_000;
}

function timestamp(ms: number, nanos: number): Timestamp {
  return { $typeName: TimestampSchema.typeName, seconds: BigInt(Math.floor(ms / 1000)), nanos };
}
