/** Builds a feed's file, either completely or from the previous file and the changes since. */
import type { FileHandle } from "node:fs/promises";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { ReadDb } from "../../db/store.ts";
import type { Frame } from "../export/rendering.ts";
import { endArchive } from "./archive-end.ts";
import { type FeedRendering, type PackedEntry, packEntries } from "./feed-entries.ts";
import type { FeedFormat } from "./feed-format.ts";
import { fingerprint, type IndexEntry, readIndex } from "./feed-index.ts";
import { findSiblings, walkAdvisories } from "./feed-source.ts";
import { FeedWriter } from "./feed-writer.ts";

export interface BuildContext {
  readonly db: ReadDb;
  readonly format: FeedFormat;
  readonly rendering: FeedRendering;
  /** Increases with every change. */
  readonly version: number;
  /** Throws if the server is shutting down. */
  readonly assertNotClosing: () => void;
}

/** Handles of a feed's file and of its index file. */
export interface FeedFiles {
  readonly data: FileHandle;
  readonly index: FileHandle;
}

export interface BuiltFeed {
  /** SHA-256 of the file, base64url. */
  readonly sum: string;
  readonly size: number;
  readonly entries: number;
  /** Advisories in the index, including those without content. */
  readonly advisories: number;
  /** The latest change of the content, RFC 3339; the empty string if there is no content. */
  readonly newest: string;
}

export async function buildWhole(context: BuildContext, files: FeedFiles): Promise<BuiltFeed> {
  const { db, format, rendering, assertNotClosing } = context;
  const target = await begin(context, files);
  for await (const sets of walkAdvisories(db, rendering.group, format.sibling)) {
    assertNotClosing();
    for await (const packed of packEntries(db, format, sets, rendering)) {
      for (const { entry, bytes } of packed) await target.writer.append(entry, bytes);
    }
    await yieldToOthers();
  }
  return finish(context, files, target);
}

export interface RenderedChanges {
  readonly fresh: readonly PackedEntry[];
  /** Advisories whose entries must not be copied: uids without the group's prefix. */
  readonly dropped: ReadonlySet<string>;
  /** Whether the file would not change. */
  readonly isEmpty: boolean;
}

/**
 * Renders the changed advisories and all their old and new siblings: a change may move an advisory to another set.
 * @param changed complete uids
 */
export async function renderChanges(context: BuildContext, previous: FeedFiles, changed: ReadonlySet<string>): Promise<RenderedChanges> {
  const { db, format, rendering, assertNotClosing } = context;
  const prefix = `${rendering.group}/`;
  const dropped = new Set([...changed].map((uid) => uid.slice(prefix.length)));
  const oldSiblings = await collect(previous, assertNotClosing, (entry) => (hasAnyOf(entry, dropped) ? entry.uids : []));
  for (const uid of oldSiblings) dropped.add(uid);
  const wanted = [...dropped].map((uid) => prefix + uid);
  const sets = await findSiblings(db, rendering.group, format.sibling, wanted);
  const fresh: PackedEntry[] = [];
  for await (const packed of packEntries(db, format, sets, rendering)) {
    fresh.push(...packed);
    assertNotClosing();
  }
  for (const { entry } of fresh) for (const uid of entry.uids) dropped.add(uid);
  const before = new Set(await collect(previous, assertNotClosing, (entry) => (hasAnyOf(entry, dropped) ? [fingerprint(entry)] : [])));
  const isEmpty = before.size === fresh.length && fresh.every(({ entry }) => before.has(fingerprint(entry)));
  return { fresh, dropped, isEmpty };
}

async function collect(
  { index }: FeedFiles,
  assertNotClosing: () => void,
  pick: (entry: IndexEntry) => readonly string[],
): Promise<string[]> {
  const picked: string[] = [];
  for await (const entries of readIndex(index)) {
    for (const entry of entries) picked.push(...pick(entry));
    assertNotClosing();
  }
  return picked;
}

/** Copies the entries without changed advisories and appends the changed entries. */
export async function buildChanged(
  context: BuildContext,
  previous: FeedFiles,
  changes: RenderedChanges,
  files: FeedFiles,
): Promise<BuiltFeed> {
  const target = await begin(context, files);
  await copyUnchanged(context, previous, changes.dropped, target);
  for (const { entry, bytes } of changes.fresh) await target.writer.append(entry, bytes);
  context.assertNotClosing();
  return finish(context, files, target);
}

function hasAnyOf({ uids }: IndexEntry, wanted: ReadonlySet<string>): boolean {
  return uids.some((uid) => wanted.has(uid));
}

/** Copies adjacent entries together. */
async function copyUnchanged(
  { format, assertNotClosing }: BuildContext,
  previous: FeedFiles,
  dropped: ReadonlySet<string>,
  { writer, frame: { head } }: FeedTarget,
): Promise<void> {
  const gap = format.layout.kind === "list" ? SEPARATOR.length : 0;
  let at = Buffer.byteLength(head);
  let range: { start: number; length: number } | undefined;
  let isFirst = true;
  const copyRange = async () => {
    if (range !== undefined) {
      await writer.copy(previous.data, range, isFirst);
      isFirst = false;
    }
    range = undefined;
  };
  for await (const entries of readIndex(previous.index)) {
    for (const entry of entries) {
      const isKept = !hasAnyOf(entry, dropped);
      if (isKept) await writer.index(entry);
      if (entry.length === 0) continue;
      if (!isKept) await copyRange();
      else if (range === undefined) range = { start: at, length: entry.length };
      else range.length += gap + entry.length;
      at += entry.length + gap;
    }
    assertNotClosing();
  }
  await copyRange();
}

const SEPARATOR = ",\n";
const NO_FRAME: Frame = { head: "", tail: () => "" };

/** Where a feed is written. */
interface FeedTarget {
  readonly writer: FeedWriter;
  /** Empty for an archive. */
  readonly frame: Frame;
}

async function begin({ format, rendering }: BuildContext, { data, index }: FeedFiles): Promise<FeedTarget> {
  const { layout } = format;
  const writer = new FeedWriter(data, index, layout.kind === "list" ? SEPARATOR : "");
  const frame = layout.kind === "list" ? layout.frame({ ...rendering, vulnerabilities: new Map() }) : NO_FRAME;
  if (frame.head !== "") await writer.write(Buffer.from(frame.head));
  return { writer, frame };
}

async function finish({ format, version }: BuildContext, files: FeedFiles, { writer, frame }: FeedTarget): Promise<BuiltFeed> {
  const { newest, advisories, entries } = writer;
  if (format.layout.kind === "archive") await endArchive(files, writer, format.layout.isListed);
  else await writer.write(Buffer.from(frame.tail({ newest, version })));
  const sum = await writer.end();
  return { sum, size: writer.position, entries, advisories, newest };
}
