/**
 * Reads the packages of a manifest in a thread, and supplies the thread with bytes. Limits the time and the memory of
 * each reading.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import { LimitExceeded } from "../../jobs/job-limits.ts";
import { JobThreads } from "../../jobs/job-threads.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import type { BlobDescriptor, ReadingAnswer, ReadingJob, ReadingQuestion, ReadResult } from "./reading-protocol.ts";

/** Limit for one manifest, during which no other manifest is read. */
const MAX_TIME_MS = 5 * 60_000;
/** A malicious SBOM can need 24 times its size as memory. */
const MAX_MEMORY_MB = 1024;
/** V8's own limit: reaching it can end the process. */
const MAX_HEAP_MB = 2 * MAX_MEMORY_MB;
const LIMITS = { cpuMs: MAX_TIME_MS, memoryMb: MAX_MEMORY_MB };

/** What to read of a manifest. */
export type Reading =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[] }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ContentReader extends AsyncDisposable {
  /**
   * Reads one manifest at a time.
   * @param onPackages is awaited; if it throws, the reading ends and throws the same
   * @throws Unreadable if a limit of time or memory is exceeded, as it would be again
   * @throws Error if the thread was stopped by the signal or another limit, or failed
   */
  read(reading: Reading, onPackages: (packages: readonly FoundPackage[]) => Promise<void>, signal: AbortSignal): Promise<ReadResult>;
}

export function createContentReader(blobs: BlobStore, maxTimeMs = MAX_TIME_MS): ContentReader {
  const threads = new JobThreads<ReadingJob, ReadingQuestion, ReadingAnswer, ReadResult>({
    module: new URL("./reading-thread.ts", import.meta.url),
    name: "package reader",
    maxHeapMb: MAX_HEAP_MB,
  });
  return {
    async read(reading, onPackages, signal) {
      const tempFolder = await mkdtemp(join(tmpdir(), "holt-packages-"));
      const answers = createAnswers(blobs, onPackages);
      const deadline = AbortSignal.timeout(maxTimeMs);
      try {
        const limit = AbortSignal.any([signal, deadline]);
        return await threads.run(
          jobOf(reading, tempFolder),
          async (question, reply) => reply(await answers.answer(question)),
          limit,
          LIMITS,
        );
      } catch (error) {
        if (error instanceof LimitExceeded) throw new Unreadable(`reading it takes too much ${error.limit}`);
        throw deadline.aborted && error === deadline.reason
          ? new Unreadable(`reading it takes longer than ${MAX_TIME_MS / 60_000} minutes`)
          : error;
      } finally {
        answers.close();
        await rm(tempFolder, { recursive: true, force: true });
      }
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}

/** Sends the thread only those fields of descriptors that it needs. */
function jobOf(reading: Reading, tempFolder: string): ReadingJob {
  const blob = ({ digest, size, isForeign }: BlobDescriptor) => ({ digest, size, isForeign });
  if (reading.kind === "image") return { kind: "image", layers: reading.layers.map(blob), tempFolder };
  return { kind: "sbom", documents: reading.documents.map(blob), subject: reading.subject };
}

function createAnswers(blobs: BlobStore, onPackages: (packages: readonly FoundPackage[]) => Promise<void>) {
  let chunks: Readable | undefined;
  let iterator: AsyncIterator<Uint8Array> | undefined;
  let isClosed = false;
  async function open({ digest, size }: BlobDescriptor): Promise<ReadingAnswer> {
    chunks?.destroy();
    try {
      // The file may be longer than the blob.
      chunks = size === 0 ? Readable.from([]) : await blobs.read(digest, { start: 0, end: size - 1 });
    } catch (error) {
      if (error instanceof NoSuchBlob) return "missing";
      throw error;
    }
    // The reading may have ended in the meantime.
    if (isClosed) chunks.destroy();
    iterator = chunks[Symbol.asyncIterator]();
    return undefined;
  }
  const answer = async (question: ReadingQuestion): Promise<ReadingAnswer> => {
    if (question.kind === "open") return open(question.blob);
    if (question.kind === "found") return void (await onPackages(question.packages));
    const next = await iterator?.next();
    return next?.done === false ? next.value : undefined;
  };
  const close = () => {
    isClosed = true;
    chunks?.destroy();
  };
  return { answer, close };
}
