/**
 * Converts the JSON text of version 2 messages to version 1 without parsing it, where versions differ by names only. Compiled
 * from the descriptors at boot. Texts are as this server writes them: without spaces, and without escapes in keys.
 */
import type { DescEnum, DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { isNullIfUnset } from "../../lib/proto-json.ts";
import { compileJsonConverter, enumValueNames, missingValue } from "./convert-json.ts";
import { type Differences, pairFields } from "./field-pairs.ts";
import { endOfValue } from "./json-scan.ts";

export type TextConverter = (text: string) => string;

/** A field of version 2. */
interface Source {
  /** With quotes and colon. */
  readonly key: string;
  /** The key of version 1; undefined if version 1 does not have the field. */
  readonly renamed: string | undefined;
  /** Undefined if the value is the same in both versions. */
  readonly convert: TextConverter | undefined;
  readonly isSame: boolean;
  /** Key and value of version 1 if the text lacks the field; undefined to leave it out. */
  readonly missing: string | undefined;
}

/** Converts one message. The keys of the result are in the order of version 2. */
export function compileTextConverter(v2: DescMessage, v1: DescMessage, differences: Differences): TextConverter {
  const whole = compileJsonConverter(v2, v1, differences);
  const parse: TextConverter = (text) => JSON.stringify(whole(JSON.parse(text) as JsonObject));
  const sources = compileSources(v2, v1, differences);
  if (sources === undefined) return parse;
  const tail = sources.findLastIndex(({ isSame, missing }) => !isSame || missing !== undefined) + 1;
  return (text) => rewrite(text, sources, tail) ?? parse(text);
}

/** In the order of the fields. @returns undefined if values have to be computed from the whole message */
function compileSources(v2: DescMessage, v1: DescMessage, differences: Differences): Source[] | undefined {
  if (Object.keys(differences[v1.typeName]?.answered ?? {}).length > 0) return undefined;
  const pairs = Map.groupBy(pairFields(v2, v1, differences), (pair) => pair.v2);
  const sources: Source[] = [];
  for (const field of v2.fields) {
    const [pair, ...others] = pairs.get(field) ?? [];
    const convert = pair && compileValue(field, pair.v1, differences);
    if (others.length > 0 || convert === "unknown") return undefined;
    const key = keyOf(field);
    const renamed = pair && keyOf(pair.v1);
    const missing = pair && missingValue(pair.v1);
    const isSame = renamed === key && convert === undefined;
    sources.push({ key, renamed, convert, isSame, missing: missing === undefined ? undefined : renamed + JSON.stringify(missing) });
  }
  return sources;
}

/** Undefined if the value stays the same; "unknown" if only a parser can convert it. */
function compileValue(v2: DescField, v1: DescField, differences: Differences): TextConverter | undefined | "unknown" {
  if (v1.enum !== undefined && v2.enum !== undefined) {
    if (haveSameNames(v2.enum, v1.enum)) return undefined;
    return v1.fieldKind === "enum" ? enumConverter(v2.enum, v1.enum) : "unknown";
  }
  if (v1.message === undefined || v2.message === undefined || isSame(v2.message, v1.message, differences)) return undefined;
  return v1.fieldKind === "message" ? compileTextConverter(v2.message, v1.message, differences) : "unknown";
}

function haveSameNames(v2: DescEnum, v1: DescEnum): boolean {
  return [...enumValueNames(v2, v1)].every(([from, to]) => from === to);
}

function enumConverter(v2: DescEnum, v1: DescEnum): TextConverter {
  const texts = new Map([...enumValueNames(v2, v1)].map(([from, to]) => [JSON.stringify(from), JSON.stringify(to)]));
  return (text) => texts.get(text) ?? text;
}

/** Whether both messages have the same JSON. Messages that contain themselves count as different. */
function isSame(v2: DescMessage, v1: DescMessage, differences: Differences, outer: readonly DescMessage[] = []): boolean {
  if (v1.typeName === v2.typeName) return true;
  if (outer.includes(v1) || differences[v1.typeName] !== undefined || v1.fields.length !== v2.fields.length) return false;
  return v1.fields.every((field, at) => {
    const other = v2.fields[at] as DescField;
    if (isNullIfUnset(field)) return false;
    if (field.jsonName !== other.jsonName || field.fieldKind !== other.fieldKind || field.presence !== other.presence) return false;
    if (field.scalar !== other.scalar || (field.oneof === undefined) !== (other.oneof === undefined)) return false;
    if (field.enum !== undefined) return other.enum !== undefined && haveSameNames(other.enum, field.enum);
    if (field.message === undefined) return other.message === undefined;
    return other.message !== undefined && isSame(other.message, field.message, differences, [...outer, v1]);
  });
}

function keyOf({ jsonName }: DescField): string {
  return `${JSON.stringify(jsonName)}:`;
}

const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * @param tail the fields from this one on are the same in both versions
 * @returns undefined if the text is not as this server writes it
 */
function rewrite(text: string, sources: readonly Source[], tail: number): string | undefined {
  const result = new Rewriting(text);
  let next = 0;
  let at = 1;
  while (text.charCodeAt(at) === QUOTE) {
    const found = findSource(text, at, sources, next);
    if (found < 0) return undefined;
    while (next < found) result.append((sources[next++] as Source).missing);
    if (found >= tail) return result.endWith(at, text.length - 1);
    const source = sources[next++] as Source;
    const valueStart = at + source.key.length;
    const end = endOfValue(text, valueStart);
    result.copy(source, { keyStart: at, valueStart, end });
    if (text.charCodeAt(end) !== COMMA) {
      at = end;
      break;
    }
    at = end + 1;
  }
  if (at !== text.length - 1) return undefined;
  while (next < sources.length) result.append((sources[next++] as Source).missing);
  return result.end();
}

/** The fields are in the order of the message, so the next key is nearly always that of one of the next fields. */
function findSource(text: string, at: number, sources: readonly Source[], next: number): number {
  for (let index = next; index < sources.length; index++) if (text.startsWith((sources[index] as Source).key, at)) return index;
  return -1;
}

/** A field in the text. */
interface FieldPosition {
  readonly keyStart: number;
  readonly valueStart: number;
  readonly end: number;
}

/** The result so far. Adjacent fields that stay the same are copied together. */
class Rewriting {
  readonly #text: string;
  #result = "";
  /** The fields that are to be copied as they are; none if both are equal. */
  #from = 0;
  #to = 0;

  constructor(text: string) {
    this.#text = text;
  }

  copy({ isSame, renamed, convert }: Source, { keyStart, valueStart, end }: FieldPosition): void {
    if (isSame) {
      if (this.#from === this.#to) this.#from = keyStart;
      this.#to = end;
    } else if (renamed !== undefined) {
      const value = this.#text.slice(valueStart, end);
      this.append(renamed + (convert === undefined ? value : convert(value)));
    } else {
      this.#flush();
    }
  }

  append(field: string | undefined): void {
    if (field === undefined) return;
    this.#flush();
    this.#result += this.#result === "" ? field : `,${field}`;
  }

  #flush(): void {
    if (this.#from === this.#to) return;
    const same = this.#text.slice(this.#from, this.#to);
    this.#from = this.#to;
    this.#result += this.#result === "" ? same : `,${same}`;
  }

  /** Copies the last fields as they are. */
  endWith(at: number, end: number): string {
    if (this.#from === this.#to) this.#from = at;
    this.#to = end;
    return this.end();
  }

  end(): string {
    this.#flush();
    return `{${this.#result}}`;
  }
}
