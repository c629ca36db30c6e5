/** A thread that reads what is to be imported, and prepares what is stored of it, beside the one that writes: no call waits for that. */
import { doJobs } from "../../jobs/job-thread.ts";
import type { ImportProblem } from "./import-options.ts";
import { prepareRecords } from "./prepare-advisory.ts";
import { readRecords } from "./read-records.ts";
import { MAX_WAITING, type Piece, type ReadingJob, type Taken } from "./reading-protocol.ts";
import type { AdvisoryRecord, ImportRecord, Placed } from "./record.ts";

/** Characters of a piece, about: records may be long. */
const MAX_WEIGHT = 1_000_000;
/** What was read in so long is passed on, as far as it is. */
const MAX_MS = 200;

doJobs<ReadingJob, Piece, Taken, void>(async (job, { say, reply }) => {
  let piece = new GrowingPiece(job);
  let waiting = 0;
  const pass = async () => {
    if (waiting === MAX_WAITING) await reply();
    else waiting++;
    say(piece.whole());
    piece = new GrowingPiece(job);
  };
  const records = readRecords({
    ...job,
    report: (problem) => piece.problems.push(problem),
    advance: (bytes) => {
      piece.bytes += bytes;
    },
    ignore: () => {
      piece.ignored++;
    },
  });
  for await (const some of records) {
    for (const record of some) {
      piece.add(record);
      if (piece.isFull()) await pass();
    }
    if (piece.isFull()) await pass();
  }
  await pass();
});

class GrowingPiece {
  readonly problems: ImportProblem[] = [];
  bytes = 0;
  ignored = 0;
  readonly #job: ReadingJob;
  readonly #records: Placed[] = [];
  #weight = 0;
  readonly #begun = performance.now();

  constructor(job: ReadingJob) {
    this.#job = job;
  }

  add(record: Placed): void {
    this.#records.push(record);
    this.#weight += weightOf(record.record);
  }

  isFull(): boolean {
    const count = Math.max(this.#records.length, this.problems.length);
    return count >= this.#job.batchSize || this.#weight >= MAX_WEIGHT || performance.now() - this.#begun > MAX_MS;
  }

  whole(): Piece {
    const { problems, bytes, ignored } = this;
    const { kind, parent } = this.#job;
    const records =
      kind === "advisories" ? prepareRecords(this.#records as readonly Placed<AdvisoryRecord>[], parent, this.#job) : this.#records;
    return { records: JSON.stringify(records), problems, bytes, ignored };
  }
}

/** Of an event: it is stored with all that is known of it. */
const EVENT_WEIGHT = 400;

function weightOf(record: ImportRecord): number {
  return "events" in record ? record.events.length * EVENT_WEIGHT : record.details.length + record.references.length * 100;
}
