/** A thread that reads what is to be imported, beside the one that writes it: what it unpacks and parses keeps no call waiting. */
import { doJobs } from "../../lib/job-thread.ts";
import type { ImportProblem } from "./import-options.ts";
import { readRecords } from "./read-records.ts";
import { MAX_WAITING, type Piece, type ReadingJob, type Taken } from "./reading-protocol.ts";

/** A piece has about so many records and problems, or characters, or what was read in so long. */
const MAX_COUNT = 200;
const MAX_LENGTH = 500_000;
const MAX_MS = 200;

doJobs<ReadingJob, Piece, Taken, void>(async (job, { say, reply }) => {
  let piece = new GrowingPiece();
  let waiting = 0;
  const pass = async () => {
    if (waiting === MAX_WAITING) await reply();
    else waiting++;
    say(piece.whole());
    piece = new GrowingPiece();
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
      piece.add(JSON.stringify(record));
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
  readonly #records: string[] = [];
  #length = 0;
  readonly #begun = performance.now();

  add(record: string): void {
    this.#records.push(record);
    this.#length += record.length;
  }

  isFull(): boolean {
    const count = this.#records.length + this.problems.length;
    return count >= MAX_COUNT || this.#length >= MAX_LENGTH || performance.now() - this.#begun > MAX_MS;
  }

  whole(): Piece {
    const { problems, bytes, ignored } = this;
    return { records: `[${this.#records.join(",")}]`, problems, bytes, ignored };
  }
}
