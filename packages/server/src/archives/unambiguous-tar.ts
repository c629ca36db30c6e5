/**
 * Refuses tar archives whose headers other tools understand differently than `tar-stream`: these tools would see entries
 * that a check of the archive does not.
 */
import { ArchiveError } from "./limits.ts";
import { GLOBAL_HEADER_PROBLEM } from "./tar-entries.ts";

const BLOCK = 512;
const EMPTY = Buffer.alloc(BLOCK);
const MAX_EXTENDED_HEADER = 1024 * 1024;
/** Bytes of the length and the name of a field. */
const MAX_FIELD_START = 400;
const USTAR = "ustar\0";
const GNU = "ustar  \0";

/** The next step of the walk over the headers: read this many bytes, or pass over them. */
type Step = { readonly read: number } | { readonly skip: number };

/** Passes the bytes of an uncompressed tar archive on. @throws ArchiveError; otherwise the error of the source */
export async function* unambiguousTar(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const walk = walkHeaders();
  let step = walk.next().value;
  let missing = lengthOf(step);
  let parts: Uint8Array[] = [];
  for await (const chunk of bytes) {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + missing);
      at += part.length;
      missing -= part.length;
      if ("read" in step) parts.push(part);
      if (missing > 0) continue;
      step = walk.next(Buffer.concat(parts)).value;
      missing = lengthOf(step);
      parts = [];
    }
    yield chunk;
  }
}

function lengthOf(step: Step): number {
  return "read" in step ? step.read : step.skip;
}

/** Extended headers of the next entry: its path (L) and the target of its link (K) in GNU's format, its fields in pax (x). */
interface Extended {
  L?: true;
  K?: true;
  x?: ReadonlyMap<string, string>;
}

function* walkHeaders(): Generator<Step, never, Buffer> {
  for (let extended: Extended = {}; ; ) {
    const header = yield { read: BLOCK };
    if (isEmpty(header)) yield* readToEnd();
    assertFormat(header);
    const type = header.toString("latin1", 156, 157);
    const size = sizeOf(header);
    if (type === "L" || type === "K" || type === "x" || type === "g") {
      if (size === 0 || size > MAX_EXTENDED_HEADER) throw new ArchiveError("an extended header is empty or too large");
      const text = (yield { read: padded(size) }).subarray(0, size);
      if (type === "g") assertGlobal(paxFields(text));
      else if (extended[type] !== undefined) throw new ArchiveError("an entry has two extended headers of one type");
      else extended = { ...extended, [type]: type === "x" ? paxFields(text) : true };
      continue;
    }
    assertOnePath(extended);
    const skipped = contentSize(type, header, Number(extended.x?.get("size") ?? size));
    extended = {};
    if (skipped > 0) yield { skip: padded(skipped) };
  }
}

/** Most tools stop at the first empty block. */
function* readToEnd(): Generator<Step, never, Buffer> {
  for (;;) if (!isEmpty(yield { read: BLOCK })) throw new ArchiveError("bytes follow the end of the archive");
}

function isEmpty(block: Buffer): boolean {
  return block.equals(EMPTY);
}

/** Some tools put the prefix of POSIX before the name in GNU's format as well, which has times there. */
function assertFormat(header: Buffer): void {
  if (header.toString("latin1", 257, 263) === USTAR) return;
  if (header.toString("latin1", 257, 265) !== GNU) throw new ArchiveError("a header is neither of POSIX nor of GNU tar");
  if (header[345] !== 0) throw new ArchiveError("a header in the format of GNU tar has a prefix");
}

/** Octal digits, or a number of 11 bytes after 0x80. */
function sizeOf(header: Buffer): number {
  const field = header.subarray(124, 136);
  if (field[0] === 0x80) return Number(BigInt(`0x${field.toString("hex", 1)}`));
  const digits = /^(?: *([0-7]+) *(?:\0.*)?|[ \0]*)$/s.exec(field.toString("latin1"));
  if (digits === null) throw new ArchiveError("the size of an entry is not a number");
  return Number.parseInt(digits[1] ?? "0", 8);
}

/** @param size as announced: folders have no content, whatever they announce */
function contentSize(type: string, header: Buffer, size: number): number {
  if (type === "5") return 0;
  if (type === "0" || type === "7") return size;
  // To some tools, this is a folder.
  const isFile = type === "\0" && !nameOf(header).endsWith("/");
  if (isFile) return size;
  if (!/^[12346\0]$/.test(type)) throw new ArchiveError("an entry has a type that not all tools know");
  if (size > 0) throw new ArchiveError("an entry that is not a file has content");
  return 0;
}

function nameOf(header: Buffer): string {
  return header.toString("latin1", 0, 100).split("\0", 1)[0] as string;
}

function paxFields(text: Buffer): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const [start, digits, name] = /^([1-9]\d{0,6}) ([^=\n]+)=/.exec(text.toString("latin1", at, at + MAX_FIELD_START)) ?? [];
    const end = at + Number(digits);
    if (start === undefined || name === undefined || end > text.length || end <= at + start.length || text[end - 1] !== 0x0a)
      throw new ArchiveError("an extended header is malformed");
    fields.set(name, text.toString("latin1", at + start.length, end - 1));
    at = end;
  }
  return fields;
}

function assertGlobal(fields: ReadonlyMap<string, string>): void {
  const names = [...fields.keys()];
  if (names.some((name) => name === "path" || name === "linkpath" || name === "size" || name.startsWith("GNU.sparse.")))
    throw new ArchiveError(GLOBAL_HEADER_PROBLEM);
}

function assertOnePath({ L, K, x = new Map() }: Extended): void {
  if ((L && x.has("path")) || (K && x.has("linkpath"))) throw new ArchiveError("an entry has two paths");
  if (x.get("path") === "" || x.get("linkpath") === "") throw new ArchiveError("an entry has an empty path");
  if ([...x.keys()].some((name) => name.startsWith("GNU.sparse."))) throw new ArchiveError("an entry is a sparse file");
  if (!/^\d{1,15}$/.test(x.get("size") ?? "0")) throw new ArchiveError("the size of an entry is not a number");
}

function padded(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}
