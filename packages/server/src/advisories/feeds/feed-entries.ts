/** Renders sets of advisories and packs them as they stand in a feed's file. */
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { promisify } from "node:util";
import { crc32, deflateRaw } from "node:zlib";
import type { ReadDb } from "../../db/store.ts";
import type { PublishedAdvisory } from "../export/published-advisory.ts";
import { newest, type Rendering } from "../export/rendering.ts";
import type { FeedFormat } from "./feed-format.ts";
import type { IndexEntry } from "./feed-index.ts";
import { loadAdvisories, loadVulnerabilities, type Siblings } from "./feed-source.ts";
import { localHeader } from "./zip-format.ts";

export interface PackedEntry {
  readonly entry: IndexEntry;
  readonly bytes: Buffer;
}

/** What a feed is rendered with, but for what is read from piece to piece. */
export type Frameless = Omit<Rendering, "vulnerabilities">;

/** Advisories of one piece: what is computed without a pause. */
const PIECE = 100;

/** In the order of the sets. What is told of none of its advisories is an entry without bytes. */
export async function* packEntries(
  db: ReadDb,
  format: FeedFormat,
  sets: readonly Siblings[],
  rendering: Frameless,
): AsyncIterable<readonly PackedEntry[]> {
  let piece: Siblings[] = [];
  let advisories = 0;
  for (const [i, set] of sets.entries()) {
    piece.push(set);
    advisories += set.length;
    if (advisories < PIECE && i < sets.length - 1) continue;
    yield await packPiece(db, format, piece, rendering);
    await yieldToOthers();
    piece = [];
    advisories = 0;
  }
}

async function packPiece(db: ReadDb, format: FeedFormat, sets: readonly Siblings[], frameless: Frameless): Promise<PackedEntry[]> {
  const advisories = await loadAdvisories(db, sets.flat());
  const rendering = await withVulnerabilities(db, format, advisories, frameless);
  const byUid = new Map(advisories.map((advisory) => [advisory.uid, advisory]));
  const published = sets.map((set) => set.flatMap((uid) => byUid.get(uid) ?? []));
  return Promise.all(sets.map((set, i) => packEntry(format, set, published[i] ?? [], rendering)));
}

async function withVulnerabilities(
  db: ReadDb,
  { usesVulnerabilities }: FeedFormat,
  advisories: readonly PublishedAdvisory[],
  frameless: Frameless,
): Promise<Rendering> {
  const aliases = usesVulnerabilities ? new Set(advisories.flatMap((advisory) => advisory.aliases)) : [];
  return { ...frameless, vulnerabilities: await loadVulnerabilities(db, [...aliases]) };
}

/** What is rendered together, as it stands in an archive. Undefined where the format has nothing to say. */
export async function renderSet(db: ReadDb, format: FeedFormat, set: Siblings, frameless: Frameless): Promise<Rendered | undefined> {
  const advisories = await loadAdvisories(db, set);
  return renderText(format, advisories, await withVulnerabilities(db, format, advisories, frameless));
}

export interface Rendered {
  readonly text: string;
  /** The most recent change of what it tells. */
  readonly time: string;
}

function renderText(format: FeedFormat, advisories: readonly PublishedAdvisory[], rendering: Rendering): Rendered | undefined {
  const rendered = advisories.length === 0 ? undefined : format.render(advisories, rendering);
  if (rendered === undefined) return undefined;
  const told = advisories.flatMap(({ aliases }) => aliases.map((alias) => rendering.vulnerabilities.get(alias)?.updateTime ?? ""));
  const time = newest([...advisories.map(({ updateTime }) => updateTime), ...told]);
  return { text: `${JSON.stringify(rendered)}${format.layout.kind === "archive" ? "\n" : ""}`, time };
}

async function packEntry(
  format: FeedFormat,
  set: Siblings,
  advisories: readonly PublishedAdvisory[],
  rendering: Rendering,
): Promise<PackedEntry> {
  const uids = set.map((uid) => uid.slice(rendering.group.length + 1));
  const rendered = renderText(format, advisories, rendering);
  const [first] = advisories;
  if (rendered === undefined || first === undefined)
    return { entry: { length: 0, size: 0, crc: 0, time: "", name: "", uids }, bytes: EMPTY };
  const { text, time } = rendered;
  const name = format.layout.kind === "archive" ? format.layout.fileName(first) : "";
  const { bytes, size, crc } = await pack(text, name, time);
  return { entry: { length: bytes.length, size, crc, time, name, uids }, bytes };
}

const EMPTY = Buffer.alloc(0);
const deflate = promisify(deflateRaw) as (bytes: Buffer, options: object) => Promise<Buffer>;
/** Most files are small: larger tables would only have to be cleared. */
const SMALL = { windowBits: 12, memLevel: 5 };

/** @param name of a file in an archive; the empty string for an element of a list */
export async function pack(text: string, name: string, time: string): Promise<{ bytes: Buffer; size: number; crc: number }> {
  const plain = Buffer.from(text);
  const crc = crc32(plain);
  if (name === "") return { bytes: plain, size: plain.length, crc };
  const packed = await deflate(plain, SMALL);
  const header = localHeader({ name, time, crc, size: plain.length, packedSize: packed.length });
  return { bytes: Buffer.concat([header, packed]), size: plain.length, crc };
}
