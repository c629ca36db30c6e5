/** Imports that wait to be run: claims them in turns of organizations, stores their progress, and ends or releases them. */
import { sql } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../../db/store.ts";
import { lastTurn, lockTurns, recordTurn } from "../../../jobs/fair-share.ts";
import { createLease, type Lease, RELEASED } from "../../../jobs/lease.ts";
import type { Clock } from "../../../lib/clock.ts";
import { importEnded } from "../../mirrors/mirror-schedule.ts";
import { IMPORT_LEASE_MS } from "../../tables.ts";
import type { ImportProblem, ImportResult } from "../import-options.ts";
import type { ImportRow } from "./import-row.ts";

/** An import fails after this number of runs that did not end, because the server was killed or for faults of its own. */
const MAX_ATTEMPTS = 5;
const RETRY_MS = 60_000;

export type NumberedProblem = ImportProblem & { readonly number: number };

/** The progress of a run. */
export interface RunProgress {
  readonly read: number;
  readonly problems: number;
  /** The kept problems that are not stored yet. */
  readonly unsaved: readonly NumberedProblem[];
}

export interface ImportQueue {
  readonly lease: Lease;
  /** The next import, of the organization whose last turn is longest ago. Undefined where none is due. */
  claim(): Promise<ImportRow | undefined>;
  /** False where another server has the import by now, or it is deleted. */
  saveProgress(row: ImportRow, progress: RunProgress): Promise<boolean>;
  /** False as with `saveProgress`: then the server that has the import needs its file. */
  done(row: ImportRow, result: ImportResult, progress: RunProgress): Promise<boolean>;
  /** False as with `done`. */
  failed(row: ImportRow, error: string, progress: RunProgress): Promise<boolean>;
  /** The import waits again, as if it had not been begun. */
  release(row: ImportRow): Promise<void>;
  /** The import is run again later, or fails if it was begun too often. */
  postpone(row: ImportRow): Promise<void>;
}

export function createImportQueue(store: Store, clock: Clock): ImportQueue {
  const lease = createLease({ store, clock, table: "advisory_import", key: "uid", durationMs: IMPORT_LEASE_MS });
  const parts = { store, clock, lease };
  return {
    lease,
    claim: () => claim(parts),

    saveProgress: (row, { read, problems, unsaved }) =>
      lease.hold(row.uid, async (db) => {
        await appendProblems(db, row.uid, unsaved);
        await change(db, row, { read_count: read, problem_count: problems });
      }),

    done(row, { read, created, updated, unchanged, problems }, progress) {
      const counts = {
        read_count: read,
        created_count: created,
        updated_count: updated,
        unchanged_count: unchanged,
        problem_count: problems,
      };
      return end(parts, row, { state: "done", ...counts }, progress);
    },

    failed: (row, error, progress) =>
      end(parts, row, { state: "failed", error, read_count: progress.read, problem_count: progress.problems }, progress),

    async release(row) {
      await lease.hold(row.uid, (db) => change(db, row, { ...RELEASED, state: "waiting", attempts: row.attempts - 1, due_time: null }));
    },

    postpone: (row) => postpone(parts, row),
  };
}

interface Parts {
  readonly store: Store;
  readonly clock: Clock;
  readonly lease: Lease;
}

async function claim({ store, clock, lease }: Parts): Promise<ImportRow | undefined> {
  // Most of the time no import waits, and that needs no transaction.
  if ((await nextDue(store.reader, lease, clock).executeTakeFirst()) === undefined) return undefined;
  return store.transaction(async (db) => {
    await lockTurns(db, "import_turn");
    const due = await db.dialect.forClaim(nextDue(db, lease, clock)).executeTakeFirst();
    if (due === undefined) return undefined;
    const begun = { state: "running" as const, read_count: 0, problem_count: 0, attempts: due.attempts + 1, due_time: null };
    await lease.claim(db, [due.uid]);
    await change(db, due, begun);
    await db.deleteFrom("advisory_import_problem").where("import_uid", "=", due.uid).execute();
    const now = clock.now();
    await recordTurn(db, "import_turn", { orgUid: due.org_uid, begun: now, now });
    return { ...due, ...begun };
  });
}

function end({ clock, lease }: Parts, row: ImportRow, columns: Partial<ImportRow>, { unsaved }: RunProgress): Promise<boolean> {
  return lease.hold(row.uid, async (db) => {
    const now = clock.now();
    const ended = { ...row, ...columns, ...RELEASED, end_time: now.toISOString() };
    await appendProblems(db, row.uid, unsaved);
    await change(db, row, { ...columns, ...RELEASED, end_time: ended.end_time });
    await db.deleteFrom("advisory_import_part").where("import_uid", "=", row.uid).execute();
    await importEnded(db, ended, ended.error, now);
  });
}

async function postpone(parts: Parts, row: ImportRow): Promise<void> {
  const error = reasonToGiveUp(row.attempts);
  if (error !== undefined) {
    await end(parts, row, { state: "failed", error }, { read: 0, problems: 0, unsaved: [] });
    return;
  }
  const dueTime = new Date(parts.clock.now().getTime() + RETRY_MS * row.attempts).toISOString();
  await parts.lease.hold(row.uid, (db) => change(db, row, { ...RELEASED, state: "waiting", due_time: dueTime }));
}

/** For the owner of an import that is not to be run again after this number of attempts. Undefined where it may be. */
export function reasonToGiveUp(attempts: number): string | undefined {
  return attempts < MAX_ATTEMPTS ? undefined : `it was begun ${MAX_ATTEMPTS} times and never finished; the server's log says why`;
}

async function change(db: WriteDb, { uid }: ImportRow, columns: Partial<ImportRow>): Promise<void> {
  await db.updateTable("advisory_import").set(columns).where("uid", "=", uid).execute();
}

function nextDue(db: ReadDb, lease: Lease, clock: Clock) {
  return (
    db
      .selectFrom("advisory_import")
      .selectAll()
      // The condition of the index advisory_import_due.
      .where(sql<boolean>`state in ('waiting', 'running')`)
      .where(({ or, eb }) => or([eb("due_time", "is", null), eb("due_time", "<=", clock.now().toISOString())]))
      .where(lease.isFree())
      .orderBy(lastTurn("import_turn", sql.ref("advisory_import.org_uid")))
      .orderBy("org_uid")
      .orderBy("start_time")
      .limit(1)
  );
}

async function appendProblems(db: WriteDb, uid: string, problems: readonly NumberedProblem[]): Promise<void> {
  if (problems.length === 0) return;
  const rows = problems.map(({ number, file, position, reason }) => ({ number, file, position, reason }));
  const source = db.dialect.rowsOf(rows, { number: "bigint", file: "text", position: "text", reason: "text" });
  await db
    .insertInto("advisory_import_problem")
    .columns(["import_uid", "number", "file", "position", "reason"])
    .expression(
      db.selectFrom(source.as("r")).select((eb) => [eb.val(uid).as("import_uid"), "r.number", "r.file", "r.position", "r.reason"]),
    )
    .execute();
}
