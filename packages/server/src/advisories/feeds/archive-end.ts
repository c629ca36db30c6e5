/** Writes the end of a feed's zip archive: the index files that readers of CSAF expect, and the central directory. */

import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { FeedFiles } from "./feed-build.ts";
import { pack } from "./feed-entries.ts";
import { type IndexEntry, readIndex } from "./feed-index.ts";
import type { FeedWriter } from "./feed-writer.ts";
import { centralHeader, localHeaderSize, type ZipEntry, zipEnd } from "./zip-format.ts";

/** @param isListed whether to add `index.txt` and `changes.csv` (CSAF 2.0 §7.1.12 and §7.1.13) */
export async function endArchive(files: FeedFiles, writer: FeedWriter, isListed: boolean): Promise<void> {
  await writer.flushIndex();
  const indexFiles: ZipEntry[] = [];
  const start = writer.position;
  if (isListed) {
    for (const { name, text } of await createIndexFiles(files)) {
      const { bytes, size, crc } = await pack(text, name, writer.newest);
      indexFiles.push({ name, time: writer.newest, size, crc, packedSize: bytes.length - localHeaderSize(name) });
      await writer.write(bytes);
    }
  }
  await writeDirectory(files, writer, start, indexFiles);
}

/** @param indexFiles follow the entries of advisories and are not in the feed's index */
async function writeDirectory(files: FeedFiles, writer: FeedWriter, endOfEntries: number, indexFiles: readonly ZipEntry[]): Promise<void> {
  const start = writer.position;
  let offset = 0;
  for await (const entries of readIndex(files.index)) {
    const headers: Buffer[] = [];
    for (const entry of entries.filter(({ length }) => length > 0)) {
      headers.push(centralHeader(zipEntryOf(entry), offset));
      offset += entry.length;
    }
    if (headers.length > 0) await writer.write(Buffer.concat(headers));
  }
  if (offset !== endOfEntries) throw new Error("the feed's index does not match its file");
  for (const entry of indexFiles) {
    await writer.write(centralHeader(entry, offset));
    offset += localHeaderSize(entry.name) + entry.packedSize;
  }
  await writer.write(zipEnd(writer.entries + indexFiles.length, start, writer.position - start));
}

function zipEntryOf({ name, time, crc, size, length }: IndexEntry): ZipEntry {
  return { name, time, crc, size, packedSize: length - localHeaderSize(name) };
}

/** `index.txt` lists all file names; `changes.csv` lists each with the time of its last change, the latest first. */
async function createIndexFiles({ index }: FeedFiles): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const batches: string[][] = [];
  for await (const entries of readIndex(index)) {
    batches.push(entries.flatMap(({ name, time, length }) => (length > 0 ? [`${time} ${name}`] : [])).sort());
  }
  const names: string[] = [];
  const changes: string[] = [];
  for (const line of (await mergeSorted(batches)).reverse()) {
    const space = line.indexOf(" ");
    names.push(`${line.slice(space + 1)}\n`);
    changes.push(`"${line.slice(space + 1)}","${line.slice(0, space)}"\n`);
  }
  return [
    { name: "index.txt", text: names.join("") },
    { name: "changes.csv", text: changes.join("") },
  ];
}

/** Merges in steps and yields to other requests, as sorting hundreds of thousands of lines at once takes a second. */
async function mergeSorted(batches: readonly string[][]): Promise<string[]> {
  let sorted = batches;
  while (sorted.length > 1) {
    const halves: string[][] = [];
    for (let i = 0; i < sorted.length; i += 2) halves.push(await mergeTwo(sorted[i] ?? [], sorted[i + 1] ?? []));
    sorted = halves;
  }
  return sorted[0] ?? [];
}

const LINES_BETWEEN_YIELDS = 10_000;

async function mergeTwo(a: readonly string[], b: readonly string[]): Promise<string[]> {
  const merged: string[] = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    merged.push(j >= b.length || (i < a.length && (a[i] as string) <= (b[j] as string)) ? (a[i++] as string) : (b[j++] as string));
    if (merged.length % LINES_BETWEEN_YIELDS === 0) await yieldToOthers();
  }
  return merged;
}
