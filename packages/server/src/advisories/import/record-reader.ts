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

interface Arrival {
  readonly batch: EncodedBatch;
  /** Lets the thread read on. */
  take(): void;
}

/** The batches that have arrived from the thread and wait for their reader. */
class Arrivals {
  readonly #waiting: Arrival[] = [];
  #end: { readonly error?: unknown } | undefined;
  #wake = () => {};

  add(arrival: Arrival): void {
    this.#waiting.push(arrival);
    this.#wake();
  }

  /** @param result with the error of the thread, if it failed */
  end(result: { readonly error?: unknown }): void {
    this.#end = result;
    this.#wake();
  }

  /** Ends after the last batch. @throws the error of the thread */
  async *all(): AsyncGenerator<Arrival> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#end === undefined) await this.#arrival();
      else if ("error" in this.#end) throw this.#end.error;
      else return;
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
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
      const arrivals = new Arrivals();
      const running = threads.run(
        { ...job, limits },
        (batch, reply) => arrivals.add({ batch, take: () => reply("taken") }),
        signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
        jobLimits,
      );
      const ending = running.then(
        () => arrivals.end({}),
        (error: unknown) => arrivals.end({ error }),
      );
      try {
        for await (const { batch, take } of arrivals.all()) {
          take();
          yield { ...batch, records: decode(batch.records) };
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
