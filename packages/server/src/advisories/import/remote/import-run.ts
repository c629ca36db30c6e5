/** One run of an import, from its beginning to its end, whatever the end is. */

import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { Store } from "../../../db/store.ts";
import type { Session } from "../../../iam/grants/grants.ts";
import { parseSession } from "../../../iam/identities/stored-session.ts";
import { Loop } from "../../../jobs/loop.ts";
import { createPace, pacedStore } from "../../../jobs/pace.ts";
import type { Clock } from "../../../lib/clock.ts";
import { HoltError } from "../../../lib/errors.ts";
import type { Log } from "../../../lib/log.ts";
import { importRecords } from "../import.ts";
import type { RecordReader } from "../record-reader.ts";
import { isAsSent } from "./file-check.ts";
import { hopelessness, type ImportLeases } from "./import-leases.ts";
import { type ImportRights, type RightsDependencies, rightsOf } from "./import-rights.ts";
import type { ImportRow } from "./import-row.ts";
import { ProblemList } from "./problem-list.ts";

export interface RunOptions extends RightsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly files: StagedFiles;
  readonly leases: ImportLeases;
  readonly reader: RecordReader;
}

/** How often the lease is renewed, progress is stored and rights are looked at. */
const BEAT_MS = 2000;

/** How long others have the database after each transaction, as a multiple of its time. */
const PAUSE_FACTOR = 1;

/** Records of one transaction: few, as calls wait for them where the database is in this process. */
const BATCH = 50;

/** Why a run was stopped. */
export class Stopped extends Error {
  override readonly name = "Stopped";
  /** `ours`: the import waits again. `not-ours`: it is another server's, or deleted. */
  readonly whose: "ours" | "not-ours";
  constructor(whose: Stopped["whose"]) {
    super("the import was stopped");
    this.whose = whose;
  }
}

/** Resolves when what became of it is stored; the file is removed where it is needed no more, here or by another server that took the import over. @param stop with a Stopped as its reason */
export async function runImport(row: ImportRow, options: RunOptions, stop: AbortController): Promise<void> {
  const { leases, files, log } = options;
  const session = parseSession(row.session ?? "{}");
  const problems = new ProblemList(files.path(row.file), row.file_name);
  const progress = { read: 0 };
  const soFar = () => ({ read: progress.read, problems: problems.count, unsaved: problems.unsaved() });
  try {
    // Whoever began with it was killed each time.
    const error = hopelessness({ ...row, attempts: row.attempts - 1 });
    if (error !== undefined) return await refuse(row, error, options, soFar);
    const rights = await rightsOf(row, session, options);
    if (!rights.mayImport) return await refuse(row, "the identity that it acts for may not import this, or not any more", options, soFar);
    if (!(await isAsSent(row, options))) return await refuse(row, "the file is not as it was sent: send it again", options, soFar);
    const beat = startBeat(row, session, rights, options, stop, problems, soFar);
    try {
      const result = await readRecords(row, session.uid, rights, options, stop.signal, problems, progress);
      await beat[Symbol.asyncDispose]();
      if (await leases.done(row, result, soFar())) await files.remove(row.file);
    } finally {
      await beat[Symbol.asyncDispose]();
    }
  } catch (error) {
    const reason: unknown = stop.signal.aborted ? stop.signal.reason : error;
    if (reason instanceof Stopped) {
      if (reason.whose === "ours") await leases.release(row, false);
    } else if (reason instanceof HoltError) {
      await refuse(row, reason.message, options, soFar);
    } else {
      log.error({ err: reason, import: row.uid }, "an import could not be run");
      await leases.release(row, true);
    }
  }
}

type Progress = Parameters<ImportLeases["failed"]>[2];

async function refuse(row: ImportRow, error: string, { leases, files }: RunOptions, soFar: () => Progress): Promise<void> {
  if (await leases.failed(row, error, soFar())) await files.remove(row.file);
}

function readRecords(
  row: ImportRow,
  actor: string,
  { approves, mayDelete }: ImportRights,
  { store, clock, files, reader }: RunOptions,
  signal: AbortSignal,
  problems: ProblemList,
  progress: { read: number },
) {
  return importRecords({
    ...{
      store: pacedStore(store, createPace({ pauseFactor: PAUSE_FACTOR, signal })),
      reader,
      clock,
      kind: row.kind,
      parent: row.kind === "advisories" ? row.parent : "",
      actor,
      signal,
    },
    approves: approves && row.approves === 1,
    mayDelete: mayDelete && row.may_delete === 1,
    path: files.path(row.file),
    batchSize: BATCH,
    onProgress: ({ read }) => {
      progress.read = read;
    },
    onProblem: (problem) => problems.add(problem),
  });
}

function areSame(one: ImportRights, other: ImportRights): boolean {
  return one.mayImport === other.mayImport && one.approves === other.approves && one.mayDelete === other.mayDelete;
}

/** Until it is disposed of, and once more then. */
function startBeat(
  row: ImportRow,
  session: Session,
  rights: ImportRights,
  options: RunOptions,
  stop: AbortController,
  problems: ProblemList,
  soFar: () => Progress,
): AsyncDisposable {
  const { leases, log } = options;
  return new Loop({
    ...{ name: "watching over an import", log, spacingMs: 100 },
    async step() {
      const now = await rightsOf(row, session, options);
      // It waits, and begins anew with what is left of them.
      if (!areSame(now, rights)) stop.abort(new Stopped("ours"));
      const progress = soFar();
      if (await leases.renew(row, progress)) problems.forget(progress.unsaved);
      else stop.abort(new Stopped("not-ours"));
      return BEAT_MS;
    },
  });
}
