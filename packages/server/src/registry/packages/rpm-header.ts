/** Reads a package's header as RPM keeps it in its database: an index of tags, then their data (rpm, docs/manual/format_header.md). Pure. */
import type { DatabaseEntry } from "./found-package.ts";

const TAGS = { name: 1000, version: 1001, release: 1002, epoch: 1003, arch: 1022, sourceRpm: 1044 } as const;
const INT32 = 4;
const STRINGS = new Set([6, 8, 9]);
const INDEX_ENTRY = 16;
const MAX_TEXT = 4096;

/** Undefined for keys, which RPM keeps among its packages. What cannot be read is empty. */
export function readRpmHeader(bytes: Uint8Array): DatabaseEntry | undefined {
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = textOf(header, TAGS.name);
  if (name === "gpg-pubkey") return undefined;
  const [version, release] = [textOf(header, TAGS.version), textOf(header, TAGS.release)];
  const sourceRpm = textOf(header, TAGS.sourceRpm);
  return {
    name,
    version: version === "" || release === "" ? "" : `${version}-${release}`,
    architecture: textOf(header, TAGS.arch),
    origin: originFromSourceRpm(sourceRpm) ?? name,
    epoch: epochOf(header),
  };
}

/** `openssl` of `openssl-3.0.7-27.el9.src.rpm`. */
export function originFromSourceRpm(file: string): string | undefined {
  return /^(.+)-[^-]+-[^-]+\.(?:no)?src\.rpm$/.exec(file)?.[1];
}

interface IndexEntry {
  readonly type: number;
  /** In the header. */
  readonly offset: number;
}

function find(header: Buffer, tag: number): IndexEntry | undefined {
  if (header.length < 8) return undefined;
  const count = header.readUInt32BE(0);
  const data = 8 + count * INDEX_ENTRY;
  if (data > header.length) return undefined;
  for (let at = 8; at < data; at += INDEX_ENTRY)
    if (header.readUInt32BE(at) === tag) return { type: header.readUInt32BE(at + 4), offset: data + header.readUInt32BE(at + 8) };
  return undefined;
}

function textOf(header: Buffer, tag: number): string {
  const entry = find(header, tag);
  if (entry === undefined || !STRINGS.has(entry.type) || entry.offset >= header.length) return "";
  const end = header.indexOf(0, entry.offset);
  return end < 0 || end - entry.offset > MAX_TEXT ? "" : header.toString("utf8", entry.offset, end);
}

function epochOf(header: Buffer): string {
  const entry = find(header, TAGS.epoch);
  if (entry === undefined || entry.type !== INT32 || entry.offset + 4 > header.length) return "";
  const epoch = header.readUInt32BE(entry.offset);
  return epoch === 0 ? "" : String(epoch);
}
