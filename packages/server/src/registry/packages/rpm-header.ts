/**
 * Reads the header of a package in the RPM database: an index of tags, then their data (rpm,
 * docs/manual/format_header.md). Pure.
 */
import type { DatabaseEntry } from "./found-package.ts";

const TAGS = { name: 1000, version: 1001, release: 1002, epoch: 1003, arch: 1022, sourceRpm: 1044 } as const;
const INT32_TYPE = 4;
const STRING_TYPES = new Set([6, 8, 9]);
const INDEX_ENTRY_BYTES = 16;
const MAX_STRING_BYTES = 4096;

/** Undefined for a public key, which RPM stores as a package. Fields that cannot be read are empty. */
export function readRpmHeader(bytes: Uint8Array): DatabaseEntry | undefined {
  const header = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = readString(header, TAGS.name);
  if (name === "gpg-pubkey") return undefined;
  const version = readString(header, TAGS.version);
  const release = readString(header, TAGS.release);
  const sourceRpm = readString(header, TAGS.sourceRpm);
  return {
    name,
    version: version === "" || release === "" ? "" : `${version}-${release}`,
    architecture: readString(header, TAGS.arch),
    origin: originFromSourceRpm(sourceRpm) ?? name,
    originVersion: "",
    epoch: readEpoch(header),
  };
}

/** `openssl` for `openssl-3.0.7-27.el9.src.rpm`; undefined for other names. */
export function originFromSourceRpm(file: string): string | undefined {
  return /^(.+)-[^-]+-[^-]+\.(?:no)?src\.rpm$/.exec(file)?.[1];
}

interface RpmIndexEntry {
  readonly type: number;
  /** Offset in the header, in bytes. */
  readonly offset: number;
}

function findEntry(header: Buffer, tag: number): RpmIndexEntry | undefined {
  if (header.length < 8) return undefined;
  const count = header.readUInt32BE(0);
  const data = 8 + count * INDEX_ENTRY_BYTES;
  if (data > header.length) return undefined;
  for (let at = 8; at < data; at += INDEX_ENTRY_BYTES)
    if (header.readUInt32BE(at) === tag) return { type: header.readUInt32BE(at + 4), offset: data + header.readUInt32BE(at + 8) };
  return undefined;
}

function readString(header: Buffer, tag: number): string {
  const entry = findEntry(header, tag);
  if (entry === undefined || !STRING_TYPES.has(entry.type) || entry.offset >= header.length) return "";
  const end = header.indexOf(0, entry.offset);
  return end < 0 || end - entry.offset > MAX_STRING_BYTES ? "" : header.toString("utf8", entry.offset, end);
}

function readEpoch(header: Buffer): string {
  const entry = findEntry(header, TAGS.epoch);
  if (entry === undefined || entry.type !== INT32_TYPE || entry.offset + 4 > header.length) return "";
  const epoch = header.readUInt32BE(entry.offset);
  return epoch === 0 ? "" : String(epoch);
}
