/**
 * Blobs that move from one store to another while servers run. New blobs go to the new store. Reads fall back to the old
 * one, where uploads that began there also end.
 */
import type { StagedFiles } from "./staged-files.ts";
import { type BlobStore, type ListedBlob, NoSuchBlob } from "./store.ts";

export function createFallbackBlobs(current: BlobStore, old: BlobStore): BlobStore {
  /** The store that has the blob; the new one if none has it. */
  const storeOf = async (digest: string): Promise<BlobStore> =>
    (await current.stat(digest)) === undefined && (await old.stat(digest)) !== undefined ? old : current;
  const storeOfUpload = async (upload: string): Promise<BlobStore> =>
    (await current.sizeOfUpload(upload)) === undefined && (await old.sizeOfUpload(upload)) !== undefined ? old : current;
  return {
    staged: stagedIn(current.staged, old.staged),
    async append(upload, bytes, offset, use) {
      const place = use === "whole" || offset === 0 ? current : await storeOfUpload(upload);
      return place.append(upload, bytes, offset, use);
    },
    sizeOfUpload: async (upload) => (await current.sizeOfUpload(upload)) ?? (await old.sizeOfUpload(upload)),
    commit: async (upload, digest) => (await storeOfUpload(upload)).commit(upload, digest),
    async abort(upload) {
      await current.abort(upload);
      await old.abort(upload);
    },
    async *staleUploads(before) {
      yield* current.staleUploads(before);
      yield* old.staleUploads(before);
    },
    stat: async (digest) => (await current.stat(digest)) ?? (await old.stat(digest)),
    async hasLost(digest, size) {
      const isThere = async (place: BlobStore) => ((await place.stat(digest))?.size ?? -1) >= size;
      return !(await isThere(current)) && !(await isThere(old));
    },
    async read(digest, range) {
      try {
        return await (await storeOf(digest)).read(digest, range);
      } catch (error) {
        // It has moved in between.
        if (!(error instanceof NoSuchBlob)) throw error;
        return await current.read(digest, range);
      }
    },
    withFile: async (digest, size, work) => (await storeOf(digest)).withFile(digest, size, work),
    send: async (digest, range, begin) => (await storeOf(digest)).send(digest, range, begin),
    async remove(digest, signal) {
      // A migration copies from the old store, so it must not find the blob there any more.
      await old.remove(digest, signal);
      await current.remove(digest, signal);
    },
    list: (after) => mergeLists(current.list(after), old.list(after)),
    urlOf: async (digest, headers) => (await storeOf(digest)).urlOf?.(digest, headers),
    async [Symbol.asyncDispose]() {},
  };
}

/** A file stays in the store where it began. */
function stagedIn(current: StagedFiles, old: StagedFiles): StagedFiles {
  const placeOf = async (name: string) => ((await old.exists(name)) ? old : current);
  return {
    withFile: async (name, size, work) => (await placeOf(name)).withFile(name, size, work),
    write: async (name, offset, bytes) => (await placeOf(name)).write(name, offset, bytes),
    create: (name) => current.create(name),
    cut: async (name, size) => (await placeOf(name)).cut(name, size),
    exists: async (name) => (await current.exists(name)) || (await old.exists(name)),
    async remove(name) {
      await current.remove(name);
      await old.remove(name);
    },
    async *list() {
      yield* current.list();
      yield* old.list();
    },
  };
}

/** Both lists are ascending. A blob of both is listed once, with the facts of the first. */
async function* mergeLists(first: AsyncIterable<readonly ListedBlob[]>, second: AsyncIterable<readonly ListedBlob[]>) {
  const left = eachOf(first);
  const right = eachOf(second);
  let a = await left.next();
  let b = await right.next();
  while (!a.done || !b.done) {
    const isFirst = b.done === true || (a.done !== true && a.value.digest <= b.value.digest);
    const isBoth = a.done !== true && b.done !== true && a.value.digest === b.value.digest;
    const next = isFirst ? a.value : b.value;
    if (next !== undefined) yield [next as ListedBlob];
    if (isFirst) a = await left.next();
    if (!isFirst || isBoth) b = await right.next();
  }
}

async function* eachOf(batches: AsyncIterable<readonly ListedBlob[]>): AsyncGenerator<ListedBlob, undefined> {
  for await (const batch of batches) yield* batch;
  return undefined;
}
