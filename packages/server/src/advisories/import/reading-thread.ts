/** The thread that reads the records of an import and prepares their rows. Calls and the writer do not wait for it. */
import { doJobs } from "../../jobs/job-thread.ts";
import { encodeRecords } from "./encoded-records.ts";
import type { ImportProblem } from "./import-options.ts";
import { prepareRecords } from "./prepare-advisory.ts";
import { readRecords } from "./read-records.ts";
import { type EncodedBatch, MAX_PENDING_BATCHES, type ReadingJob, type Taken } from "./reading-protocol.ts";
import type { AdvisoryRecord, ImportRecord, Located } from "./record.ts";

/** The approximate number of characters of a batch, because records can be long. */
const MAX_WEIGHT = 1_000_000;
/** A batch is sent after this time, even if it is not full. */
const MAX_BATCH_MS = 200;

doJobs<ReadingJob, EncodedBatch, Taken, void>(async (job, { say, reply }) => {
  let batch = new BatchBuilder(job);
  let pending = 0;
  const send = async () => {
    if (pending === MAX_PENDING_BATCHES) await reply();
    else pending++;
    say(batch.encode());
    batch = new BatchBuilder(job);
  };
  const records = readRecords({
    ...job,
    report: (problem) => batch.problems.push(problem),
    advance: (bytes) => {
      batch.bytes += bytes;
    },
    ignore: () => {
      batch.ignored++;
    },
  });
  for await (const some of records) {
    for (const record of some) {
      batch.add(record);
      if (batch.isFull()) await send();
    }
    if (batch.isFull()) await send();
  }
  await send();
});

class BatchBuilder {
  readonly problems: ImportProblem[] = [];
  bytes = 0;
  ignored = 0;
  readonly #job: ReadingJob;
  readonly #records: Located[] = [];
  #weight = 0;
  readonly #startedAt = performance.now();

  constructor(job: ReadingJob) {
    this.#job = job;
  }

  add(record: Located): void {
    this.#records.push(record);
    this.#weight += weightOf(record.record);
  }

  isFull(): boolean {
    const count = Math.max(this.#records.length, this.problems.length);
    return count >= this.#job.batchSize || this.#weight >= MAX_WEIGHT || performance.now() - this.#startedAt > MAX_BATCH_MS;
  }

  encode(): EncodedBatch {
    const { problems, bytes, ignored } = this;
    const { kind, parent } = this.#job;
    if (kind === "vulnerabilities") return { records: JSON.stringify(this.#records), problems, bytes, ignored };
    const records = prepareRecords(this.#records as readonly Located<AdvisoryRecord>[], parent, this.#job);
    return { records: encodeRecords(records), problems, bytes, ignored };
  }
}

/** The weight of an event, in characters. */
const EVENT_WEIGHT = 400;

function weightOf(record: ImportRecord): number {
  return "events" in record ? record.events.length * EVENT_WEIGHT : record.details.length + record.references.length * 100;
}
