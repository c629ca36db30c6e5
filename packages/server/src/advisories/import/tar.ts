/** The files in a tar, compressed or not, as its bytes come. Nothing is unpacked to disk, and what is made to harm is reported. */
import { pipeline } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { extract } from "tar-stream";
import { type FileContext, type ImportFile, IS_BOMB, MAX_ENTRIES, maxUnpacked, SMALL_FILE } from "./import-file.ts";

const BLOCK = 512;

/** By the magic of POSIX and GNU alike. */
export function isTar(start: Uint8Array): boolean {
  return start.length >= BLOCK && Buffer.from(start).toString("latin1", 257, 262) === "ustar";
}

export async function* filesInTar(bytes: AsyncIterable<Uint8Array>, name: string, context: FileContext): AsyncGenerator<ImportFile> {
  const archive = extract();
  pipeline(bytes, archive, () => {});
  let entries = 0;
  try {
    for await (const entry of archive) {
      const { header } = entry;
      const path = `${name}!${header.name.slice(0, 1000)}`;
      const problem = ++entries > MAX_ENTRIES ? undefined : problemOf(header);
      if (entries > MAX_ENTRIES) throw new Error(`it has more than ${MAX_ENTRIES} entries; the rest is not read`);
      if (problem !== undefined) context.report(path, problem);
      if (problem !== undefined || header.type !== "file") entry.resume();
      else {
        const content =
          (header.size ?? 0) > SMALL_FILE ? (entry as AsyncIterable<Uint8Array>) : await buffer(entry as AsyncIterable<Uint8Array>);
        yield { name: path, content, isSure: false };
        entry.resume();
      }
    }
  } catch (error) {
    if ("syscall" in (error as Error)) throw error;
    context.report(name, `this archive cannot be read further: ${(error as Error).message.slice(0, 200)}`);
  }
}

function problemOf({ name, type }: { readonly name: string; readonly type?: string | null | undefined }): string | undefined {
  if (name.startsWith("/") || name.replaceAll("\\", "/").split("/").includes(".."))
    return "its path leads out of the archive, so it is not read";
  if (type === "symlink" || type === "link") return "it is a link, which is not followed";
  return type === "file" || type === "directory" ? undefined : `it is neither a file nor a folder (${type})`;
}

/** @param size of what is compressed, where it is known */
export async function* gunzip(bytes: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const max = maxUnpacked(size);
  let unpacked = 0;
  for await (const piece of pipeline(bytes, createGunzip(), () => {}) as AsyncIterable<Buffer>) {
    unpacked += piece.length;
    if (unpacked > max) throw new Error(IS_BOMB);
    yield piece;
  }
}
