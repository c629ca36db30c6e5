/** Reads the records of an import in a thread and yields them in batches. Memory is limited, whatever the source contains. */
import { JobThreads } from "../../jobs/job-threads.ts";
import { documentLimits, heapFor, MAX_DOCUMENT } from "./document-limits.ts";
import { decodeRecords } from "./encoded-records.ts";
import type { EncodedBatch, ReadingJob, Taken } from "./reading-protocol.ts";
import type { Located } from "./record.ts";

/** A day: the largest import of all advisories takes an hour. */
const MAX_CPU_MS = 24 * 3_600_000;

export interface RecordBatch extends Omit<EncodedBatch, "records"> {
  readonly records: readonly Located[];
}

export interface RecordReader extends AsyncDisposable {
  /** The thread reads a few batches ahead. @throws if the source cannot be opened; the reason of the signal */
  read(job: Omit<ReadingJob, "limits">, signal?: AbortSignal): AsyncGenerator<RecordBatch>;
}

function decode(records: EncodedBatch["records"]): readonly Located[] {
  return typeof records === "string" ? (JSON.parse(records) as Located[]) : decodeRecords(records);
}

/** @param maxDocumentBytes the size of a document that is parsed as a whole. It determines the memory of the thread */
export function createRecordReader(maxDocumentBytes = MAX_DOCUMENT): RecordReader {
  const limits = documentLimits(maxDocumentBytes);
  const threads = new JobThreads<ReadingJob, EncodedBatch, Taken, void>({
    module: new URL("./reading-thread.ts", import.meta.url),
    name: "import reader",
    maxHeapMb: 2 * heapFor(limits),
  });
  const jobLimits = { cpuMs: MAX_CPU_MS, memoryMb: heapFor(limits) };
  return {
    async *read(job, signal) {
      const stop = new AbortController();
      const batches: { readonly batch: EncodedBatch; take(): void }[] = [];
      let wake = () => {};
      let end: { readonly error?: unknown } | undefined;
      const running = threads.run(
        { ...job, limits },
        (batch, reply) => {
          batches.push({ batch, take: () => reply("taken") });
          wake();
        },
        signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
        jobLimits,
      );
      const finish = (result: { readonly error?: unknown }) => {
        end = result;
        wake();
      };
      const ending = running.then(
        () => finish({}),
        (error: unknown) => finish({ error }),
      );
      try {
        for (;;) {
          const next = batches.shift();
          if (next !== undefined) {
            next.take();
            yield { ...next.batch, records: decode(next.batch.records) };
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
        // A caller that stops early does not wait for the rest.
        stop.abort();
        await ending;
      }
    },
    [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose](),
  };
}
