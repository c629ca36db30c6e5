/** A blob store whose operations are spans. */
import type { Tracer } from "../lib/tracer.ts";
import type { BlobStore } from "./store.ts";

/** The store itself while nothing is traced. */
export function traceBlobs(blobs: BlobStore, tracer: Tracer): BlobStore {
  if (!tracer.isActive) return blobs;
  const span = <T>(operation: string, digest: string | undefined, work: () => Promise<T>) =>
    tracer.span({ name: `blob ${operation}`, attributes: { "holt.blob.digest": digest } }, work);
  return {
    staged: blobs.staged,
    append: (upload, bytes, offset, use) => span("append", undefined, () => blobs.append(upload, bytes, offset, use)),
    sizeOfUpload: (upload) => blobs.sizeOfUpload(upload),
    commit: (upload, digest) => span("commit", digest, () => blobs.commit(upload, digest)),
    abort: (upload) => span("abort", undefined, () => blobs.abort(upload)),
    staleUploads: (before) => blobs.staleUploads(before),
    stat: (digest) => span("stat", digest, () => blobs.stat(digest)),
    hasLost: (digest, size) => span("stat", digest, () => blobs.hasLost(digest, size)),
    read: (digest, range) => span("open", digest, () => blobs.read(digest, range)),
    withFile: (digest, size, work) => blobs.withFile(digest, size, work),
    send: (digest, range, begin) => span("send", digest, () => blobs.send(digest, range, begin)),
    remove: (digest, signal) => span("remove", digest, () => blobs.remove(digest, signal)),
    list: (after) => blobs.list(after),
    ...(blobs.urlOf !== undefined && { urlOf: (digest, headers) => span("sign URL", digest, async () => blobs.urlOf?.(digest, headers)) }),
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
}
