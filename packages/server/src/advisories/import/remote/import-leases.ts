/** Which server runs which import: a claim on its row, which holds for a while and is renewed. Who lost it writes nothing any more. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Store, WriteDb } from "../../../db/store.ts";
import type { Clock } from "../../../lib/clock.ts";
import { importEnded } from "../../mirrors/mirror-schedule.ts";
import type { ImportProblem, ImportResult } from "../import-options.ts";
import type { ImportRow } from "./import-row.ts";

const LEASE_MS = 30_000;
/** So often a server may end in the middle of an import before the import is at fault. */
const MAX_ATTEMPTS = 5;
const RETRY_MS = 60_000;

export type NumberedProblem = ImportProblem & { readonly number: number };

/** What is known of a run so far. */
export interface RunProgress {
  readonly read: number;
  readonly problems: number;
  /** Of the kept problems those that are not stored yet. */
  readonly unsaved: readonly NumberedProblem[];
}

export interface ImportLeases {
  /** The next import: organizations take turns. Undefined where there is none. */
  claim(): Promise<ImportRow | undefined>;
  /** False where it is another's by now, or deleted. */
  renew(row: ImportRow, progress: RunProgress): Promise<boolean>;
  /** False as with `renew`: the file is needed by whoever has it now. */
  done(row: ImportRow, result: ImportResult, progress: RunProgress): Promise<boolean>;
  /** The same for one that came to nothing. */
  failed(row: ImportRow, error: string, progress: RunProgress): Promise<boolean>;
  /** Gives it back, to be run again from its beginning: at once where nothing was wrong with it. */
  release(row: ImportRow, isFaulty: boolean): Promise<void>;
  /** Makes void what a server left behind that was killed. For a database that has no other server. */
  releaseForeign(): Promise<void>;
}

export function createImportLeases(store: Store, clock: Clock): ImportLeases {
  const holder = randomUUID();
  let lastOrg = "";
  const after = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();

  /** Runs `work` where the import is still held. */
  function held(row: ImportRow, work: (db: WriteDb) => Promise<void>): Promise<boolean> {
    return store.transaction(async (db) => {
      const mine = db.selectFrom("advisory_import").select("uid").where("uid", "=", row.uid).where("lease_holder", "=", holder);
      if ((await db.dialect.forUpdate(mine).executeTakeFirst()) === undefined) return false;
      await work(db);
      return true;
    });
  }
  const change = (db: WriteDb, { uid }: ImportRow, columns: Partial<ImportRow>) =>
    db.updateTable("advisory_import").set(columns).where("uid", "=", uid).execute();

  async function end(row: ImportRow, columns: Partial<ImportRow>, { unsaved }: RunProgress): Promise<boolean> {
    return held(row, async (db) => {
      const now = clock.now();
      const ended = { ...row, ...columns, ...FREE, end_time: now.toISOString() };
      await appendProblems(db, row.uid, unsaved);
      await change(db, row, { ...columns, ...FREE, end_time: ended.end_time });
      await db.deleteFrom("advisory_import_part").where("import_uid", "=", row.uid).execute();
      await importEnded(db, ended, ended.error, now);
    });
  }

  return {
    async claim() {
      const row = await store.transaction(async (db) => {
        const now = clock.now().toISOString();
        const found = (await findDue(db, lastOrg, now)) ?? (await findDue(db, "", now));
        if (found === undefined) return undefined;
        const lease = { lease_holder: holder, lease_time: after(LEASE_MS), attempts: found.attempts + 1, due_time: null };
        const begun = { state: "running" as const, read_count: 0, problem_count: 0, ...lease };
        await change(db, found, begun);
        await db.deleteFrom("advisory_import_problem").where("import_uid", "=", found.uid).execute();
        return { ...found, ...begun };
      });
      lastOrg = row?.org_uid ?? lastOrg;
      return row;
    },

    renew: (row, { read, problems, unsaved }) =>
      held(row, async (db) => {
        await appendProblems(db, row.uid, unsaved);
        await change(db, row, { lease_time: after(LEASE_MS), read_count: read, problem_count: problems });
      }),

    done: (row, { read, created, updated, unchanged, problems }, progress) =>
      end(
        row,
        {
          ...{ state: "done", read_count: read, created_count: created, updated_count: updated, unchanged_count: unchanged },
          problem_count: problems,
        },
        progress,
      ),

    failed: (row, error, progress) =>
      end(row, { state: "failed", error, read_count: progress.read, problem_count: progress.problems }, progress),

    async release(row, isFaulty) {
      const error = isFaulty ? hopelessness(row) : undefined;
      if (error !== undefined) {
        await end(row, { state: "failed", error }, { read: 0, problems: 0, unsaved: [] });
        return;
      }
      const attempts = isFaulty ? row.attempts : row.attempts - 1;
      const dueTime = isFaulty ? after(RETRY_MS * row.attempts) : null;
      await held(row, async (db) => void (await change(db, row, { ...FREE, state: "waiting", attempts, due_time: dueTime })));
    },

    async releaseForeign() {
      await store.transaction((db) => db.updateTable("advisory_import").set(FREE).where("lease_holder", "is not", null).execute());
    },
  };
}

/** Why the import is not to be begun once more, in words for its owner; undefined where it is. */
export function hopelessness({ attempts }: ImportRow): string | undefined {
  return attempts < MAX_ATTEMPTS ? undefined : `it was begun ${MAX_ATTEMPTS} times and not brought to an end; the server's log says why`;
}

const FREE = { lease_holder: null, lease_time: null };

/** Of the organizations that come after this one. */
async function findDue(db: WriteDb, org: string, now: string): Promise<ImportRow | undefined> {
  const due = db
    .selectFrom("advisory_import")
    .selectAll()
    // In the words of the index.
    .where(sql<boolean>`state in ('waiting', 'running')`)
    .where("org_uid", ">", org)
    .where(({ or, eb }) => or([eb("due_time", "is", null), eb("due_time", "<=", now)]))
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", now)]))
    .orderBy("org_uid")
    .orderBy("start_time")
    .limit(1);
  return db.dialect.forClaim(due).executeTakeFirst();
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
