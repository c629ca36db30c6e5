/** Reads the packages of a manifest on a thread, and sends it the bytes. Bounded in time and memory, whatever the content is. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import { JobThreads } from "../../jobs/job-threads.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import type { Answer, BlobDescriptor, Job, Question, ReadResult } from "./reading-protocol.ts";

/** Time per manifest: all other manifests wait meanwhile. */
const MAX_TIME_MS = 5 * 60_000;
/** A malicious SBOM of the largest size takes 24 times its length. */
const MAX_HEAP_MB = 1024;

/** The content of a manifest that is to be read. */
export type Reading =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[] }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ContentReader extends AsyncDisposable {
  /**
   * Not to be called again before it has settled.
   * @param onPackages awaited before reading goes on; its error ends the reading and is thrown
   * @throws Unreadable where it takes too long, as it would again
   * @throws Error where the thread was stopped: by the signal, by its other limits, or by a fault of its own
   */
  read(reading: Reading, onPackages: (packages: readonly FoundPackage[]) => Promise<void>, signal: AbortSignal): Promise<ReadResult>;
}

export function createContentReader(blobs: BlobStore, maxTimeMs = MAX_TIME_MS): ContentReader {
  const threads = new JobThreads<Job, Question, Answer, ReadResult>({
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
        return await threads.run(jobOf(reading, tempFolder), async (question, reply) => reply(await answers.answer(question)), limit);
      } catch (error) {
        throw deadline.aborted && error === deadline.reason
          ? new Unreadable(`it takes longer than ${MAX_TIME_MS / 60_000} minutes`)
          : error;
      } finally {
        answers.close();
        await rm(tempFolder, { recursive: true, force: true });
      }
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}

/** Copies only the fields that the thread needs. */
function jobOf(reading: Reading, tempFolder: string): Job {
  const blob = ({ digest, size, isForeign }: BlobDescriptor) => ({ digest, size, isForeign });
  if (reading.kind === "image") return { kind: "image", layers: reading.layers.map(blob), tempFolder };
  return { kind: "sbom", documents: reading.documents.map(blob), subject: reading.subject };
}

function createAnswers(blobs: BlobStore, onPackages: (packages: readonly FoundPackage[]) => Promise<void>) {
  let chunks: Readable | undefined;
  let iterator: AsyncIterator<Uint8Array> | undefined;
  const close = () => void chunks?.destroy();
  async function open({ digest, size }: BlobDescriptor): Promise<Answer> {
    close();
    try {
      // A file may be longer than its blob.
      chunks = size === 0 ? Readable.from([]) : await blobs.read(digest, { start: 0, end: size - 1 });
    } catch (error) {
      if (error instanceof NoSuchBlob) return "missing";
      throw error;
    }
    iterator = chunks[Symbol.asyncIterator]();
    return undefined;
  }
  const answer = async (question: Question): Promise<Answer> => {
    if (question.kind === "open") return open(question.blob);
    if (question.kind === "found") return void (await onPackages(question.packages));
    const next = await iterator?.next();
    return next?.done === false ? next.value : undefined;
  };
  return { answer, close };
}
