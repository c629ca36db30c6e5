/** Generates messages with values that commonly break servers. */
import type { DescField, DescMessage, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Random } from "../random.ts";

/** An error message that repeats one of these is not a leak of the server. */
export const NASTY_TEXTS: readonly string[] = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "😀",
  "é",
  "e\u0301",
  "\u202eabc",
  "\ufeff",
  "../../etc",
  "..",
  ".",
  "/",
  "//",
  "*",
  "**",
  "%",
  "%00",
  "%2F",
  "%zz",
  "%C0%80",
  "%F0%9F%98",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "' or '1'='1",
  "'; drop table x; --",
  '"',
  "\\",
  "\r\nx: y",
  "$" + "{x}",
  "{{x}}",
  "<script>",
  "null",
  "true",
  "NaN",
  "Infinity",
  "-0",
  "-1",
  "1e309",
  "9007199254740993",
  "9".repeat(40),
  "0x10",
  "a".repeat(255),
  "a".repeat(256),
  "z".repeat(5000),
  "name",
  "uid",
  "uid desc",
  "create_time desc",
  "name asc",
  "NAME DESC",
  "name desc extra",
  "viewer",
  "folder-1",
  "2024-01-01T00:00:00Z",
  "0000-00-00T00:00:00Z",
  "https://issuer.example.com",
  "CLAIM_MATCH",
  "(((((((((((a+)+)+)+$",
];

const NASTY_NUMBERS: readonly number[] = [0, -0, 1, -1, 0.5, 50, 200, 201, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53, 1e21, 1e308, -1e308];

/** Uids to use; some of them exist. */
export type UidPool = readonly string[];

export function nastyText(random: Random, uids: UidPool): string {
  if (random.oneIn(3)) return mangle(random.pick(uids), random);
  const text = random.pick(NASTY_TEXTS);
  return random.oneIn(6) ? text + random.pick(NASTY_TEXTS) : text;
}

/** Mostly unchanged, otherwise slightly mutated. */
export function mangle(text: string, random: Random): string {
  if (random.below(4) > 0) return text;
  const at = random.below(text.length + 1);
  switch (random.below(6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + random.pick(NASTY_TEXTS) + text.slice(at);
    case 2:
      return text.slice(0, at) + String.fromCharCode(random.below(128)) + text.slice(at + 1);
    case 3:
      return `${text}/${text.slice(-16)}`;
    case 4:
      return text.toUpperCase();
    default:
      return `${text}/`;
  }
}

function nastyJson(random: Random, uids: UidPool, depth: number): JsonValue {
  switch (random.below(depth > 0 ? 8 : 5)) {
    case 0:
      return null;
    case 1:
      return random.oneIn(2);
    case 2:
      return random.pick(NASTY_NUMBERS);
    case 3:
    case 4:
      return nastyText(random, uids);
    case 5:
      return Array.from({ length: random.below(4) }, () => nastyJson(random, uids, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(4) }, () => [random.pick(NASTY_TEXTS), nastyJson(random, uids, depth - 1)]),
      );
  }
}

/** JSON of a message: mostly valid, with some wrong types, unknown keys and other spellings. */
export function randomJson(schema: DescMessage, random: Random, uids: UidPool, depth = 3): JsonValue {
  if (random.oneIn(12)) return nastyJson(random, uids, 2);
  const json: Record<string, JsonValue> = {};
  for (const field of schema.fields) {
    if (random.below(5) < 2 && field.name !== "name") continue;
    Object.defineProperty(json, random.oneIn(2) ? field.name : field.jsonName, {
      value: random.oneIn(8) ? nastyJson(random, uids, 2) : fieldJson(field, random, uids, depth),
      enumerable: true,
      configurable: true,
    });
  }
  if (random.oneIn(6))
    Object.defineProperty(json, random.pick(NASTY_TEXTS), { value: nastyJson(random, uids, 2), enumerable: true, configurable: true });
  return json;
}

function fieldJson(field: DescField, random: Random, uids: UidPool, depth: number): JsonValue {
  const element = (): JsonValue => {
    if (field.message !== undefined) return depth === 0 ? {} : randomJson(field.message, random, uids, depth - 1);
    if (field.enum !== undefined) return random.oneIn(4) ? random.below(2000) : (random.pick(field.enum.values)?.name ?? 0);
    return scalarJson(field, random, uids);
  };
  if (field.fieldKind === "list") return Array.from({ length: random.below(4) }, element);
  if (field.fieldKind === "map") return { [random.pick(NASTY_TEXTS)]: element() };
  return element();
}

function scalarJson(field: DescField, random: Random, uids: UidPool): JsonValue {
  if (field.scalar === ScalarType.BOOL) return random.oneIn(2);
  if (field.scalar !== ScalarType.STRING) return random.oneIn(3) ? random.pick(NASTY_NUMBERS) : random.below(300);
  if (field.name.endsWith("uid") || field.name === "parent") return nastyText(random, uids);
  if (field.name === "name" && random.below(3) > 0) return `folder-${random.below(1000)}`;
  return nastyText(random, uids);
}

/** Mutates JSON in ways that no value has: duplicate keys, truncation, unusual numbers, depth. */
export function mangleJson(text: string, random: Random): string {
  switch (random.below(14)) {
    case 0:
      return text.slice(0, random.below(text.length + 1));
    case 1:
      return text.replace("{", '{"name":"folder-1","name":"folder-2",');
    case 2:
      return text.replace(
        "{",
        `{"description":${random.pick(["1e999", "-", "01", "0x1", "1e-400", "123456789012345678901234567890", "NaN"])},`,
      );
    case 3:
      return text.replace("{", '{"__proto__":{"name":"folder-9","isAdmin":true},');
    case 4:
      return text.replace("{", `{"description":"\\ud83d","\\u0000":"\\u0000",`);
    case 5: {
      const depth = random.pick([50, 99, 100, 101, 102, 5000, 100_000]);
      return `{"description":${"[".repeat(depth)}${"]".repeat(depth)}}`;
    }
    case 6: {
      const depth = random.pick([50, 100, 101, 20_000]);
      return `${'{"group":'.repeat(depth)}1${"}".repeat(depth)}`;
    }
    case 7:
      return random.pick(["null", "[]", "1", '""', "true", " ", "\ufeff{}", "{}{}", "{'name':'x'}", '{"name":"x",}', "/**/{}"]);
    default:
      return text;
  }
}

/** Mutates bytes. */
export function mangleBytes(bytes: Uint8Array, random: Random): Buffer {
  const buffer = Buffer.from(bytes);
  if (random.below(3) === 0) return buffer;
  const at = random.below(buffer.length + 1);
  switch (random.below(5)) {
    case 0:
      return buffer.subarray(0, at);
    case 1: {
      if (buffer.length > 0) buffer[Math.min(at, buffer.length - 1)] = random.below(256);
      return buffer;
    }
    case 2: {
      const junk = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
      return Buffer.concat([buffer.subarray(0, at), junk, buffer.subarray(at)]);
    }
    case 3:
      // An endless varint, a length of gigabytes, an unclosed group, deep nesting.
      return Buffer.concat([
        buffer,
        random.pick([
          Buffer.alloc(11, 0xff),
          Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x07]),
          Buffer.from([0x0b]),
          Buffer.alloc(2000, 0x0b),
          Buffer.from([0x00]),
          Buffer.from([0x0a, 0x02, 0xff, 0xfe]),
        ]),
      ]);
    default:
      return Buffer.concat([buffer, buffer]);
  }
}
