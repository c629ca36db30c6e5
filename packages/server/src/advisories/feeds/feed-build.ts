/** Makes a feed's file: of all advisories, or of the file before it and what has changed since. */
import type { FileHandle } from "node:fs/promises";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";
import type { Frame } from "../export/rendering.ts";
import { endArchive } from "./archive-end.ts";
import { type Frameless, type PackedEntry, packEntries } from "./feed-entries.ts";
import type { FeedFormat } from "./feed-format.ts";
import { fingerprint, type IndexEntry, readIndex } from "./feed-index.ts";
import { siblingsOf, walkAdvisories } from "./feed-source.ts";
import { FeedWriter } from "./feed-writer.ts";

export interface BuildParts {
  readonly db: ReadDb;
  readonly format: FeedFormat;
  readonly rendering: Frameless;
  /** Grows with every change. */
  readonly version: number;
  /** Throws where the server is about to stop. */
  readonly assertGoing: () => void;
}

/** Two files that are open: of the feed, and of its index. */
export interface FeedFiles {
  readonly data: FileHandle;
  readonly index: FileHandle;
}

export interface Built {
  /** SHA-256 of the file. */
  readonly sum: string;
  readonly size: number;
  readonly entries: number;
  /** That are in the index, told of or not. */
  readonly advisories: number;
  /** The most recent change of what is told; the empty string where nothing is. */
  readonly newest: string;
}

export async function buildWhole(parts: BuildParts, files: FeedFiles): Promise<Built> {
  const { db, format, rendering, assertGoing } = parts;
  const { writer, frame } = await begin(parts, files);
  for await (const sets of walkAdvisories(db, rendering.group, format.sibling)) {
    assertGoing();
    for await (const packed of packEntries(db, format, sets, rendering)) {
      for (const { entry, bytes } of packed) await writer.append(entry, bytes);
    }
    await yieldToOthers();
  }
  return end(parts, files, writer, frame);
}

export interface Changes {
  readonly fresh: readonly PackedEntry[];
  /** Advisories whose entries are not to be copied: uids without the group before them. */
  readonly dropped: ReadonlySet<string>;
  /** Whether the file would be as it is. */
  readonly isNone: boolean;
}

/**
 * Renders what changed, and what it is or was rendered together with: a set may have lost some advisories and won others.
 * @param changed uids, whole
 */
export async function renderChanges(parts: BuildParts, previous: FeedFiles, changed: ReadonlySet<string>): Promise<Changes> {
  const { db, format, rendering, assertGoing } = parts;
  const prefix = `${rendering.group}/`;
  const dropped = new Set([...changed].map((uid) => uid.slice(prefix.length)));
  const together = await collect(previous, assertGoing, (entry) => (hasOneOf(entry, dropped) ? entry.uids : []));
  for (const uid of together) dropped.add(uid);
  const wanted = [...dropped].map((uid) => prefix + uid);
  const sets = await siblingsOf(db, rendering.group, format.sibling, wanted);
  const fresh: PackedEntry[] = [];
  for await (const packed of packEntries(db, format, sets, rendering)) {
    fresh.push(...packed);
    assertGoing();
  }
  for (const { entry } of fresh) for (const uid of entry.uids) dropped.add(uid);
  const before = new Set(await collect(previous, assertGoing, (entry) => (hasOneOf(entry, dropped) ? [fingerprint(entry)] : [])));
  const isNone = before.size === fresh.length && fresh.every(({ entry }) => before.has(fingerprint(entry)));
  return { fresh, dropped, isNone };
}

async function collect({ index }: FeedFiles, assertGoing: () => void, pick: (entry: IndexEntry) => readonly string[]): Promise<string[]> {
  const picked: string[] = [];
  for await (const entries of readIndex(index)) {
    for (const entry of entries) picked.push(...pick(entry));
    assertGoing();
  }
  return picked;
}

/** Entries without a changed advisory are copied as they are. */
export async function buildChanged(parts: BuildParts, previous: FeedFiles, changes: Changes, files: FeedFiles): Promise<Built> {
  const { writer, frame } = await begin(parts, files);
  await copyOthers(parts, previous, writer, changes.dropped, frame);
  for (const { entry, bytes } of changes.fresh) await writer.append(entry, bytes);
  parts.assertGoing();
  return end(parts, files, writer, frame);
}

function hasOneOf({ uids }: IndexEntry, wanted: ReadonlySet<string>): boolean {
  return uids.some((uid) => wanted.has(uid));
}

/** Entries that follow each other are copied at once. */
async function copyOthers(
  { format, assertGoing }: BuildParts,
  previous: FeedFiles,
  writer: FeedWriter,
  dropped: ReadonlySet<string>,
  { head }: Frame,
): Promise<void> {
  const gap = format.layout.kind === "list" ? SEPARATOR.length : 0;
  let at = Buffer.byteLength(head);
  let run: { start: number; length: number } | undefined;
  let isFirst = true;
  const copyRun = async () => {
    if (run !== undefined) {
      await writer.copy(previous.data, run, isFirst);
      isFirst = false;
    }
    run = undefined;
  };
  for await (const entries of readIndex(previous.index)) {
    for (const entry of entries) {
      const isKept = !hasOneOf(entry, dropped);
      if (isKept) await writer.note(entry);
      if (entry.length === 0) continue;
      if (!isKept) await copyRun();
      else if (run === undefined) run = { start: at, length: entry.length };
      else run.length += gap + entry.length;
      at += entry.length + gap;
    }
    assertGoing();
  }
  await copyRun();
}

const SEPARATOR = ",\n";
const NO_FRAME: Frame = { head: "", tail: () => "" };

async function begin({ format, rendering }: BuildParts, { data, index }: FeedFiles): Promise<{ writer: FeedWriter; frame: Frame }> {
  const { layout } = format;
  const writer = new FeedWriter(data, index, layout.kind === "list" ? SEPARATOR : "");
  const frame = layout.kind === "list" ? layout.frame({ ...rendering, vulnerabilities: new Map() }) : NO_FRAME;
  if (frame.head !== "") await writer.write(Buffer.from(frame.head));
  return { writer, frame };
}

async function end({ format, version }: BuildParts, files: FeedFiles, writer: FeedWriter, frame: Frame): Promise<Built> {
  const { newest, advisories, entries } = writer;
  if (format.layout.kind === "archive") await endArchive(files, writer, format.layout.isListed);
  else await writer.write(Buffer.from(frame.tail({ newest, version })));
  const sum = await writer.end();
  return { sum, size: writer.position, entries, advisories, newest };
}
