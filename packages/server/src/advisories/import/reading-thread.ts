/** The thread that reads the records of an import and prepares their rows. Calls and the writer do not wait for it. */
import { doJobs } from "../../jobs/job-thread.ts";
import { encodeRecords } from "./encoded-records.ts";
import type { ImportProblem } from "./import-options.ts";
import { prepareRecords } from "./prepare-advisory.ts";
import { readRecords } from "./read-records.ts";
import { type EncodedBatch, MAX_PENDING_BATCHES, type ReadingJob, type Taken } from "./reading-protocol.ts";
import type { AdvisoryRecord, ImportRecord, Located } from "./record.ts";

/** The approximate number of characters of a batch, per record that it may have: records can be long. */
const WEIGHT_PER_RECORD = 2000;
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
    const { batchSize } = this.#job;
    const count = Math.max(this.#records.length, this.problems.length);
    return count >= batchSize || this.#weight >= batchSize * WEIGHT_PER_RECORD || performance.now() - this.#startedAt > MAX_BATCH_MS;
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
/** The weight of a character of an alias: each is the beginning of a suffix, which a search finds. */
const ALIAS_WEIGHT = 10;

function weightOf(record: ImportRecord): number {
  if (!("events" in record)) return record.details.length + record.references.length * 100;
  const aliases = record.aliases.reduce((length, alias) => length + alias.length, 0);
  return record.events.length * EVENT_WEIGHT + aliases * ALIAS_WEIGHT;
}
