/** Documents within a file: JSON, a list of records in JSON, JSON lines, or YAML, told apart by the content. Large files are read line by line where they have lines. */
import { parseAllDocuments, type Tags } from "yaml";
import { Node } from "./fields.ts";

/** A document, or why there is none. */
export type Found =
  | { readonly position: string; readonly value: unknown; readonly pointer: string }
  | { readonly position: string; readonly reason: string };

const MIB = 1024 * 1024;

/** Of one document, which is in memory as a whole. */
export const MAX_DOCUMENT = 64 * MIB;

export interface DocumentLimits {
  /** At most MAX_DOCUMENT. */
  readonly document: number;
  /** It is slow to parse. Real files are a tenth of what the command line takes. */
  readonly yaml: number;
  readonly line: number;
}

export function documentLimits(document: number): DocumentLimits {
  return { document, yaml: Math.min(document / 16, 4 * MIB), line: Math.min(document, 16 * MIB) };
}

/** Memory to read them with, in MiB: JSON of the worst kind takes up to 24 times its length, YAML 370 times, and what else there is. */
export function heapFor({ document, yaml }: DocumentLimits): number {
  return Math.ceil(Math.max(document * 24, yaml * 370) / MIB) + 256;
}

/** How often aliases of YAML may be followed: each can stand for a document of its own. */
const MAX_YAML_ALIASES = 100;
const NEWLINE = 10;

/** A whole file. `isExplicit` where somebody named the file itself: then it must have records. */
export function documentsIn(bytes: Buffer, isExplicit: boolean, limits: DocumentLimits): Iterable<Found> {
  const start = firstByteOf(bytes);
  if (start === undefined) return [bad("", "it is empty")];
  // As what is recovered of a zip may be.
  if (bytes.length > limits.document) return [bad("", `it is larger than ${limits.document} bytes, and so not read`)];
  if (bytes.subarray(0, 4096).includes(0)) return [bad("", "it is neither JSON nor YAML nor an archive that is known here")];
  const text = decode(bytes);
  if (text === undefined) return [bad("", "it is no UTF-8 text")];
  if (start === 0x7b || start === 0x5b) return jsonDocuments(text);
  return isExplicit || HAS_RECORDS.test(text) ? yamlDocuments(text, limits) : [];
}

/** What stands beside records, such as a README, has no line like these. */
const HAS_RECORDS = /^(?:schema-version|package|advisories)[ \t]*:/m;

/** A file that is too large to be one document, unless its lines are. */
export async function* documentsOfLines(
  content: AsyncIterable<Uint8Array>,
  isExplicit: boolean,
  limits: DocumentLimits,
): AsyncGenerator<Found> {
  const kept: Uint8Array[] = [];
  let [size, line, isLined] = [0, 0, false];
  for await (const chunk of content) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      kept.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      line++;
      isLined ||= line === 1 && isJson(Buffer.concat(kept));
      if (isLined) {
        const found = lineDocument(Buffer.concat(kept.splice(0)), line);
        size = 0;
        if (found !== undefined) yield found;
      } else {
        kept.push(LINE_END);
        size += end + 1;
      }
    }
    kept.push(Buffer.from(rest));
    size += rest.length;
    const max = isLined ? limits.line : limits.document;
    if (size > max) {
      yield bad(isLined ? `line ${line + 1}` : "", `it is larger than ${max} bytes, and so not read further`);
      return;
    }
  }
  const last = Buffer.concat(kept);
  if (!isLined) {
    yield* documentsIn(last, isExplicit, limits);
    return;
  }
  const found = lineDocument(last, line + 1);
  if (found !== undefined) yield found;
}

const LINE_END = Buffer.of(NEWLINE);

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    return false;
  }
}

function lineDocument(bytes: Buffer, line: number): Found | undefined {
  const text = decode(bytes)?.trim();
  if (text === "") return undefined;
  const position = `line ${line}`;
  if (text === undefined) return bad(position, "it is no UTF-8 text");
  try {
    return { position, pointer: "", value: JSON.parse(text) };
  } catch (error) {
    return bad(position, `it is no JSON: ${(error as Error).message}`);
  }
}

/** One document, a list of them, or one on each line. */
function* jsonDocuments(text: string): Generator<Found> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const end = text.indexOf("\n");
    if (end >= 0 && isJson(Buffer.from(text.slice(0, end)))) yield* lineDocuments(text);
    else yield bad(positionOf(error as Error, text), `it is no JSON: ${(error as Error).message}`);
    return;
  }
  if (!Array.isArray(value)) yield { position: "", pointer: "", value };
  else for (const [index, element] of value.entries()) yield { position: "", pointer: `/${index}`, value: element };
}

function* lineDocuments(text: string): Generator<Found> {
  for (const [index, line] of text.split("\n").entries()) {
    const found = lineDocument(Buffer.from(line), index + 1);
    if (found !== undefined) yield found;
  }
}

/** V8 says where in some of its messages. */
function positionOf({ message }: Error, text: string): string {
  const offset = /at position (\d+)/.exec(message)?.[1];
  const end = offset === undefined ? (message.includes("end of JSON") ? text.length : undefined) : Number(offset);
  return end === undefined ? "" : `line ${text.slice(0, end).split("\n").length}`;
}

function* yamlDocuments(text: string, limits: DocumentLimits): Generator<Found> {
  if (text.length > limits.yaml) {
    yield bad("", `YAML must be no larger than ${limits.yaml} bytes`);
    return;
  }
  try {
    for (const document of parseAllDocuments(text, YAML_OPTIONS)) {
      const [error] = document.errors;
      if (error === undefined) yield { position: "", pointer: "", value: document.toJS({ maxAliasCount: MAX_YAML_ALIASES }) };
      else yield bad(error.linePos === undefined ? "" : `line ${error.linePos[0].line}`, `it is no YAML: ${firstLineOf(error.message)}`);
    }
  } catch (error) {
    // Of aliases that explode, and of nesting deeper than the stack.
    yield bad("", `it is YAML that cannot be read: ${firstLineOf((error as Error).message)}`);
  }
}

const YAML_OPTIONS = {
  // Looking for keys that are there twice takes the square of their number.
  uniqueKeys: false,
  logLevel: "silent",
  // A version 1.10 is no number.
  customTags: (tags: Tags) => tags.filter((tag) => typeof tag === "string" || !/:(?:int|float)$/.test(tag.tag)),
} as const;

function firstLineOf(message: string): string {
  return message.split("\n", 1)[0]?.replace(/ at line \d+, column \d+:?$/, "") ?? "";
}

function bad(position: string, reason: string): Found {
  return { position, reason };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Without a byte order mark. */
function decode(bytes: Buffer): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function firstByteOf(bytes: Buffer): number | undefined {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  for (let index = start; index < bytes.length; index++) if (bytes[index]! > 0x20) return bytes[index];
  return undefined;
}

export function nodeOf({ value, pointer }: Extract<Found, { value: unknown }>): Node {
  return new Node(value, pointer);
}
