/** Has a thread read the records of an import, and hands them on as they come. Bounded in memory, whatever is in there. */
import { JobThreads } from "../../jobs/job-threads.ts";
import { documentLimits, heapFor, MAX_DOCUMENT } from "./documents.ts";
import type { Piece, ReadingJob, Taken } from "./reading-protocol.ts";
import type { Placed } from "./record.ts";

export interface ReadPiece extends Omit<Piece, "records"> {
  readonly records: readonly Placed[];
}

export interface RecordReader extends AsyncDisposable {
  /** The thread is a few pieces ahead. @throws where the source cannot be opened; the signal's reason */
  read(job: Omit<ReadingJob, "limits">, signal?: AbortSignal): AsyncGenerator<ReadPiece>;
}

/** @param maxDocumentBytes of what is parsed as a whole: it says how much memory the thread may take */
export function createRecordReader(maxDocumentBytes = MAX_DOCUMENT): RecordReader {
  const limits = documentLimits(maxDocumentBytes);
  const threads = new JobThreads<ReadingJob, Piece, Taken, void>({
    module: new URL("./reading-thread.ts", import.meta.url),
    name: "import reader",
    maxHeapMb: heapFor(limits),
  });
  return {
    async *read(job, signal) {
      const stop = new AbortController();
      const pieces: { readonly piece: Piece; take(): void }[] = [];
      let wake = () => {};
      let end: { readonly error?: unknown } | undefined;
      const running = threads.run(
        { ...job, limits },
        (piece, reply) => {
          pieces.push({ piece, take: () => reply("taken") });
          wake();
        },
        signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
      );
      const finish = (how: { readonly error?: unknown }) => {
        end = how;
        wake();
      };
      const ending = running.then(
        () => finish({}),
        (error: unknown) => finish({ error }),
      );
      try {
        for (;;) {
          const next = pieces.shift();
          if (next !== undefined) {
            next.take();
            yield { ...next.piece, records: JSON.parse(next.piece.records) as Placed[] };
          } else if (end !== undefined) {
            if ("error" in end) throw end.error;
            return;
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          }
        }
      } finally {
        // Whoever wants no more is not kept waiting for the rest.
        stop.abort();
        await ending;
      }
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}
