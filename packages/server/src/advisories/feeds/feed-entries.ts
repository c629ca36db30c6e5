/** Renders sets of advisories and encodes them as the entries of a feed's file. */
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

/** Rendering input that is the same for the whole feed. Vulnerabilities are loaded per batch. */
export type FeedRendering = Omit<Rendering, "vulnerabilities">;

/** Advisories that are rendered without yielding to other requests. */
const ADVISORIES_PER_BATCH = 100;

/** In the order of the sets. A set for which the format has no content is an entry without bytes. */
export async function* packEntries(
  db: ReadDb,
  format: FeedFormat,
  sets: readonly Siblings[],
  rendering: FeedRendering,
): AsyncIterable<readonly PackedEntry[]> {
  let batch: Siblings[] = [];
  let advisories = 0;
  for (const [i, set] of sets.entries()) {
    batch.push(set);
    advisories += set.length;
    if (advisories < ADVISORIES_PER_BATCH && i < sets.length - 1) continue;
    yield await packBatch(db, format, batch, rendering);
    await yieldToOthers();
    batch = [];
    advisories = 0;
  }
}

async function packBatch(db: ReadDb, format: FeedFormat, sets: readonly Siblings[], feedRendering: FeedRendering): Promise<PackedEntry[]> {
  const advisories = await loadAdvisories(db, sets.flat());
  const rendering = await addVulnerabilities(db, format, advisories, feedRendering);
  const byUid = new Map(advisories.map((advisory) => [advisory.uid, advisory]));
  const published = sets.map((set) => set.flatMap((uid) => byUid.get(uid) ?? []));
  return Promise.all(sets.map((set, i) => packEntry(format, set, published[i] ?? [], rendering)));
}

async function addVulnerabilities(
  db: ReadDb,
  { usesVulnerabilities }: FeedFormat,
  advisories: readonly PublishedAdvisory[],
  rendering: FeedRendering,
): Promise<Rendering> {
  const aliases = usesVulnerabilities ? new Set(advisories.flatMap((advisory) => advisory.aliases)) : [];
  return { ...rendering, vulnerabilities: await loadVulnerabilities(db, [...aliases]) };
}

/** Renders one set as a file of an archive. Undefined if the format has no content for it. */
export async function renderSet(db: ReadDb, format: FeedFormat, set: Siblings, rendering: FeedRendering): Promise<Rendered | undefined> {
  const advisories = await loadAdvisories(db, set);
  return renderText(format, advisories, await addVulnerabilities(db, format, advisories, rendering));
}

export interface Rendered {
  readonly text: string;
  /** The latest change of the content, RFC 3339. */
  readonly time: string;
}

function renderText(format: FeedFormat, advisories: readonly PublishedAdvisory[], rendering: Rendering): Rendered | undefined {
  const rendered = advisories.length === 0 ? undefined : format.render(advisories, rendering);
  if (rendered === undefined) return undefined;
  const vulnerabilityTimes = advisories.flatMap(({ aliases }) =>
    aliases.map((alias) => rendering.vulnerabilities.get(alias)?.updateTime ?? ""),
  );
  const time = newest([...advisories.map(({ updateTime }) => updateTime), ...vulnerabilityTimes]);
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
/** Most files are small. Larger tables cost more to clear than they save. */
const SMALL = { windowBits: 12, memLevel: 5 };

/**
 * @param name of the file in an archive, whose content is deflated; the empty string for an element of a list, which is
 * stored plain
 */
export async function pack(text: string, name: string, time: string): Promise<{ bytes: Buffer; size: number; crc: number }> {
  const plain = Buffer.from(text);
  const crc = crc32(plain);
  if (name === "") return { bytes: plain, size: plain.length, crc };
  const packed = await deflate(plain, SMALL);
  const header = localHeader({ name, time, crc, size: plain.length, packedSize: packed.length });
  return { bytes: Buffer.concat([header, packed]), size: plain.length, crc };
}
