/**
 * Splits a file into documents: JSON, a JSON list of records, JSON lines, or YAML, recognized by the content. Large
 * files of JSON lines are streamed.
 */
import { parseYaml } from "../../lib/yaml.ts";
import type { DocumentLimits } from "./document-limits.ts";
import { Node } from "./fields.ts";

/** A document, or the reason why it cannot be read. */
export type FoundDocument =
  | { readonly position: string; readonly value: unknown; readonly pointer: string }
  | { readonly position: string; readonly reason: string };

const NEWLINE = 10;

/** The documents of a small file. @param isExplicit the caller named the file, so it must contain records */
export function documentsIn(bytes: Buffer, isExplicit: boolean, limits: DocumentLimits): Iterable<FoundDocument> {
  const start = firstByteOf(bytes);
  if (start === undefined) return [problem("", "the file is empty")];
  // A file that was recovered from a zip archive can be larger.
  if (bytes.length > limits.document) return [problem("", `larger than ${limits.document} bytes; not read`)];
  if (bytes.subarray(0, 4096).includes(0)) return [problem("", "not JSON, YAML or a supported archive")];
  const text = decodeUtf8(bytes);
  if (text === undefined) return [problem("", "not UTF-8")];
  if (start === 0x7b || start === 0x5b) return jsonDocuments(text);
  return isExplicit || HAS_RECORDS.test(text) ? yamlDocuments(text, limits) : [];
}

/** Other files, such as a README, have no such lines. */
const HAS_RECORDS = /^(?:schema-version|package|advisories)[ \t]*:/m;

/** The documents of a large file: JSON lines are read one by one, anything else up to the limit of a document. */
export async function* documentsOfLines(
  content: AsyncIterable<Uint8Array>,
  isExplicit: boolean,
  limits: DocumentLimits,
): AsyncGenerator<FoundDocument> {
  const kept: Uint8Array[] = [];
  let size = 0;
  let line = 0;
  let hasLines = false;
  for await (const chunk of content) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      kept.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      line++;
      hasLines ||= line === 1 && isJson(Buffer.concat(kept));
      if (hasLines) {
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
    const max = hasLines ? limits.line : limits.document;
    if (size > max) {
      yield problem(hasLines ? `line ${line + 1}` : "", `larger than ${max} bytes; the rest is not read`);
      return;
    }
  }
  const last = Buffer.concat(kept);
  if (!hasLines) {
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

function lineDocument(bytes: Buffer, line: number): FoundDocument | undefined {
  const text = decodeUtf8(bytes)?.trim();
  if (text === "") return undefined;
  const position = `line ${line}`;
  if (text === undefined) return problem(position, "not UTF-8");
  try {
    return { position, pointer: "", value: JSON.parse(text) };
  } catch (error) {
    return problem(position, `not valid JSON: ${(error as Error).message}`);
  }
}

/** One document, a list of documents, or one document per line. */
function* jsonDocuments(text: string): Generator<FoundDocument> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const end = text.indexOf("\n");
    if (end >= 0 && isJson(Buffer.from(text.slice(0, end)))) yield* lineDocuments(text);
    else yield problem(positionOf(error as Error, text), `not valid JSON: ${(error as Error).message}`);
    return;
  }
  if (!Array.isArray(value)) yield { position: "", pointer: "", value };
  else for (const [index, element] of value.entries()) yield { position: "", pointer: `/${index}`, value: element };
}

function* lineDocuments(text: string): Generator<FoundDocument> {
  for (const [index, line] of text.split("\n").entries()) {
    const found = lineDocument(Buffer.from(line), index + 1);
    if (found !== undefined) yield found;
  }
}

/** Some messages of V8 contain the position. */
function positionOf({ message }: Error, text: string): string {
  const offset = /at position (\d+)/.exec(message)?.[1];
  const end = offset === undefined ? (message.includes("end of JSON") ? text.length : undefined) : Number(offset);
  return end === undefined ? "" : `line ${text.slice(0, end).split("\n").length}`;
}

function* yamlDocuments(text: string, limits: DocumentLimits): Generator<FoundDocument> {
  if (text.length > limits.yaml) {
    yield problem("", `YAML must have at most ${limits.yaml} bytes`);
    return;
  }
  for (const document of parseYaml(text)) {
    if ("value" in document) yield { position: "", pointer: "", value: document.value };
    else yield problem(document.line === 0 ? "" : `line ${document.line}`, document.reason);
  }
}

function problem(position: string, reason: string): FoundDocument {
  return { position, reason };
}

const utf8Decoder = new TextDecoder("utf-8", { fatal: true });

/** Removes the byte order mark. */
function decodeUtf8(bytes: Buffer): string | undefined {
  try {
    return utf8Decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

function firstByteOf(bytes: Buffer): number | undefined {
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  for (let index = start; index < bytes.length; index++) if (bytes[index]! > 0x20) return bytes[index];
  return undefined;
}

export function nodeOf({ value, pointer }: Extract<FoundDocument, { value: unknown }>): Node {
  return new Node(value, pointer);
}
