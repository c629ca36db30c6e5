/** Has a thread read what is in a manifest, and gives it the bytes. Bounded in time and memory, whatever is in there. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { Worker } from "node:worker_threads";
import { type BlobStore, NoSuchBlob } from "../../blobs/store.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import type { Answer, BlobDescriptor, FromThread, Job, Question, ReadResult, ToThread } from "./reading-protocol.ts";

/** For everything that is in a manifest: all others wait meanwhile. */
const MAX_TIME_MS = 5 * 60_000;
const IDLE_MS = 30_000;
const MAX_HEAP_MB = 768;

/** What is to be read, before it is known where. */
export type Reading =
  | { readonly kind: "image"; readonly layers: readonly BlobDescriptor[] }
  | { readonly kind: "sbom"; readonly documents: readonly BlobDescriptor[]; readonly subject: string | undefined };

export interface ContentReader extends AsyncDisposable {
  /**
   * One at a time.
   * @param onPackages is waited for; what it throws ends the reading and is thrown on
   * @throws Unreadable where it takes too long, as it would again
   * @throws Error where the thread was stopped: by the signal, by its other limits, or by its own fault
   */
  read(reading: Reading, onPackages: (packages: readonly FoundPackage[]) => Promise<void>, signal: AbortSignal): Promise<ReadResult>;
}

export function createContentReader(blobs: BlobStore, maxTimeMs = MAX_TIME_MS): ContentReader {
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const end = async () => {
    clearTimeout(idle);
    const ended = thread;
    thread = undefined;
    await ended?.terminate();
  };
  return {
    async read(reading, onPackages, signal) {
      clearTimeout(idle);
      thread ??= startThread();
      const tempFolder = await mkdtemp(join(tmpdir(), "holt-packages-"));
      const answers = createAnswers(blobs, onPackages);
      try {
        const job = jobOf(reading, tempFolder);
        const limit = AbortSignal.any([signal, AbortSignal.timeout(maxTimeMs)]);
        const result = await converse(thread, job, answers.answer, limit);
        idle = setTimeout(() => void end(), IDLE_MS).unref();
        return result;
      } catch (error) {
        await end();
        throw error;
      } finally {
        answers.close();
        await rm(tempFolder, { recursive: true, force: true });
      }
    },
    [Symbol.asyncDispose]: end,
  };
}

/** Nothing of a manifest but what is needed goes to the thread. */
function jobOf(reading: Reading, tempFolder: string): Job {
  const blob = ({ digest, size, isForeign }: BlobDescriptor) => ({ digest, size, isForeign });
  if (reading.kind === "image") return { kind: "image", layers: reading.layers.map(blob), tempFolder };
  return { kind: "sbom", documents: reading.documents.map(blob), subject: reading.subject };
}

function startThread(): Worker {
  const thread = new Worker(new URL("./reading-thread.ts", import.meta.url), {
    name: "package reader",
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // What ends it is heard where it is waited for.
  thread.on("error", () => {});
  thread.unref();
  return thread;
}

type Answers = (question: Question) => Promise<Answer>;

/** Settles when the thread has said its last word about the job, or cannot any more. */
function converse(thread: Worker, job: Job, answer: Answers, signal: AbortSignal): Promise<ReadResult> {
  return new Promise<ReadResult>((resolve, reject) => {
    const send = (message: ToThread) => thread.postMessage(message);
    const onMessage = (message: FromThread) => {
      if (message.kind === "end") settle(() => resolve(message.result));
      else if (message.kind === "error") settle(() => reject(new Error(message.message)));
      else answer(message).then((value) => send({ kind: "answer", answer: value }), onError);
    };
    const onError = (error: unknown) => settle(() => reject(error));
    const onExit = () => onError(new Error("the thread that read it has ended"));
    const onAbort = () =>
      onError(isTimeout(signal.reason) ? new Unreadable(`it takes longer than ${MAX_TIME_MS / 60_000} minutes`) : signal.reason);
    const settle = (how: () => void) => {
      thread.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      how();
    };
    thread.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else send({ kind: "job", job });
  });
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof DOMException && reason.name === "TimeoutError";
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
  const answer: Answers = async (question) => {
    if (question.kind === "open") return open(question.blob);
    if (question.kind === "found") return void (await onPackages(question.packages));
    const next = await iterator?.next();
    return next?.done === false ? next.value : undefined;
  };
  return { answer, close };
}
