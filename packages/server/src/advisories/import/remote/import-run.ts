/** Runs an import from its beginning to its end, and stores how it ended. */
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { Store } from "../../../db/store.ts";
import { parseSession } from "../../../iam/identities/stored-session.ts";
import { LimitExceeded } from "../../../jobs/job-limits.ts";
import { Loop } from "../../../jobs/loop.ts";
import { createPace, pacedStore } from "../../../jobs/pace.ts";
import { LostLease, Stopping } from "../../../jobs/worker.ts";
import type { Clock } from "../../../lib/clock.ts";
import { HoltError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { importRecords } from "../import.ts";
import type { ImportResult } from "../import-options.ts";
import type { RecordReader } from "../record-reader.ts";
import { isAsSent } from "./file-check.ts";
import { type ImportQueue, type RunProgress, reasonToGiveUp } from "./import-queue.ts";
import { type ImportRights, type RightsDependencies, rightsOf } from "./import-rights.ts";
import type { ImportRow } from "./import-row.ts";
import { ProblemList } from "./problem-list.ts";

export interface RunOptions extends RightsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: StagedFiles;
  readonly queue: ImportQueue;
  readonly reader: RecordReader;
}

/** How often progress is stored and rights are checked. */
const SAVE_MS = 2000;
/** How long others have the database after each transaction, as a multiple of its time. */
const PAUSE_FACTOR = 1;
/** Records per transaction: few, because calls wait for it where the database is in this process. */
const BATCH_SIZE = 50;
const NOT_AS_SENT = "the file is not as it was sent: send it again";

/** Why a run was aborted: it is begun again with the rights that are left. */
class RightsChanged extends Error {
  override readonly name = "RightsChanged";
}

class ImportRun {
  readonly row: ImportRow;
  readonly options: RunOptions;
  readonly problems: ProblemList;
  read = 0;

  constructor(row: ImportRow, options: RunOptions) {
    this.row = row;
    this.options = options;
    this.problems = new ProblemList(row.file_name);
  }

  progress(): RunProgress {
    return { read: this.read, problems: this.problems.count, unsaved: this.problems.unsaved() };
  }

  rights(): Promise<ImportRights> {
    return rightsOf(this.row, parseSession(this.row.session ?? "{}"), this.options);
  }

  /** Removes the file, unless the server that has the import by now needs it. */
  async done(result: ImportResult): Promise<void> {
    const { queue, files } = this.options;
    if (await queue.done(this.row, result, this.progress())) await files.remove(this.row.file);
  }

  /** As `done`. */
  async fail(error: string): Promise<void> {
    const { queue, files } = this.options;
    if (await queue.failed(this.row, error, this.progress())) await files.remove(this.row.file);
  }
}

/** @param signal aborted with LostLease or Stopping */
export async function runImport(row: ImportRow, options: RunOptions, signal: AbortSignal): Promise<void> {
  const { queue, log } = options;
  const run = new ImportRun(row, options);
  const change = new AbortController();
  const stop = AbortSignal.any([signal, change.signal]);
  try {
    // All earlier runs were killed.
    const error = reasonToGiveUp(row.attempts - 1);
    if (error !== undefined) return await run.fail(error);
    const rights = await run.rights();
    if (!rights.mayImport) return await run.fail("the identity that it acts for may not import this, or not any more");
    // Bytes that were never acknowledged are cut off.
    if (!(await options.files.cut(row.file, row.received_bytes))) return await run.fail(NOT_AS_SENT);
    await options.files.withFile(row.file, row.received_bytes, async (path) => {
      if (!(await isAsSent(row, path, options))) return await run.fail(NOT_AS_SENT);
      run.problems.hide(path);
      const watch = startWatch(run, rights, change);
      try {
        const result = await readRecords(run, rights, path, stop);
        // Its last step must not store problems that `done` stores.
        await watch[Symbol.asyncDispose]();
        await run.done(result);
      } finally {
        await watch[Symbol.asyncDispose]();
      }
    });
  } catch (error) {
    const reason: unknown = stop.aborted ? stop.reason : error;
    if (reason instanceof LostLease) return;
    if (reason instanceof Stopping || reason instanceof RightsChanged) return await queue.release(row);
    if (reason instanceof HoltError) return await run.fail(reason.message);
    if (reason instanceof LimitExceeded) return await run.fail(`reading the file takes too much ${reason.limit}: split it`);
    log.error({ err: reason, import: row.uid }, "an import could not be run");
    await queue.postpone(row);
  }
}

function readRecords(run: ImportRun, { approves, mayDelete }: ImportRights, path: string, signal: AbortSignal): Promise<ImportResult> {
  const { row, problems } = run;
  const { store, clock, reader } = run.options;
  return importRecords({
    store: pacedStore(store, createPace({ pauseFactor: PAUSE_FACTOR, signal })),
    reader,
    clock,
    kind: row.kind,
    parent: row.kind === "advisories" ? row.parent : "",
    actor: parseSession(row.session ?? "{}").uid,
    signal,
    approves: approves && row.approves === 1,
    mayDelete: mayDelete && row.may_delete === 1,
    path,
    batchSize: BATCH_SIZE,
    onProgress: ({ read }) => {
      run.read = read;
    },
    onProblem: (problem) => problems.add(problem),
  });
}

/** Stores progress and checks rights until it is disposed of. */
function startWatch(run: ImportRun, rights: ImportRights, change: AbortController): AsyncDisposable {
  const { queue, log } = run.options;
  return new Loop({
    name: "storing the progress of an import",
    log,
    spacingMs: 100,
    async step() {
      if (!areSame(await run.rights(), rights)) change.abort(new RightsChanged());
      const progress = run.progress();
      if (await queue.saveProgress(run.row, progress)) run.problems.forget(progress.unsaved);
      return SAVE_MS;
    },
  });
}

function areSame(one: ImportRights, other: ImportRights): boolean {
  return one.mayImport === other.mayImport && one.approves === other.approves && one.mayDelete === other.mayDelete;
}
