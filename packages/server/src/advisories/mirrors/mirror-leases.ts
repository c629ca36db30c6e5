/** Which server fetches which feed: a claim that names the file it fetches into, holds for a while and is renewed. */
import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { ReadDb, Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { rootOf } from "../../lib/uid.ts";
import type { MirrorRun } from "./mirror-schedule.ts";

const LEASE_MS = 30_000;
/** Of the uid of an organization, with which those of its mirrors begin. */
const ROOT_LENGTH = 40;

/** The run as it was claimed; `file` is the claim. */
export type ClaimedRun = MirrorRun & { readonly file: string };

export interface MirrorLeases {
  /** @param hasRoom asked of each organization; what it is true for is claimed */
  claim(limit: number, full: readonly string[], hasRoom: (orgUid: string) => boolean): Promise<ClaimedRun[]>;
  /** @returns which of these claims still hold */
  renew(files: readonly string[]): Promise<Set<string>>;
  /** Gives it back; it is due as it was. */
  release(file: string): Promise<void>;
  /** Makes void what a server left behind that was killed. For a database that has no other server. */
  releaseForeign(): Promise<void>;
}

const FREE = { file: null, lease_time: null };

export function createMirrorLeases(store: Store, clock: Clock): MirrorLeases {
  const end = () => new Date(clock.now().getTime() + LEASE_MS).toISOString();
  return {
    claim: async (limit, full, hasRoom) => {
      const now = clock.now().toISOString();
      // Most of the time there is nothing, and that needs no transaction.
      if ((await dueRuns(store.reader, now, full).limit(1).executeTakeFirst()) === undefined) return [];
      return store.transaction(async (db) => {
        const due = await db.dialect.forClaim(dueRuns(db, now, full).selectAll().limit(limit)).execute();
        const claimed: ClaimedRun[] = [];
        for (const run of due.filter(({ mirror_uid: uid }) => hasRoom(rootOf(uid)))) {
          const lease = { file: randomUUID(), lease_time: end() };
          await db.updateTable("advisory_mirror_run").set(lease).where("mirror_uid", "=", run.mirror_uid).execute();
          claimed.push({ ...run, ...lease });
        }
        return claimed;
      });
    },
    renew: (files) =>
      store.transaction(async (db) => {
        const rows = await db
          .updateTable("advisory_mirror_run")
          .set({ lease_time: end() })
          .where("file", "in", db.selectFrom(db.dialect.valuesOf(files).as("v")).select("v.value"))
          .returning("file")
          .execute();
        return new Set(rows.flatMap(({ file }) => file ?? []));
      }),
    async release(file) {
      await store.transaction((db) => db.updateTable("advisory_mirror_run").set(FREE).where("file", "=", file).execute());
    },
    async releaseForeign() {
      await store.transaction((db) => db.updateTable("advisory_mirror_run").set(FREE).where("file", "is not", null).execute());
    },
  };
}

function dueRuns(db: ReadDb, now: string, full: readonly string[]) {
  const root = sql<string>`substr(mirror_uid, 1, ${sql.lit(ROOT_LENGTH)})`;
  return db
    .selectFrom("advisory_mirror_run")
    .select("mirror_uid")
    .where("next_time", "<=", now)
    .where(({ or, eb }) => or([eb("lease_time", "is", null), eb("lease_time", "<", now)]))
    .$if(full.length > 0, (query) => query.where(root, "not in", db.selectFrom(db.dialect.valuesOf(full).as("v")).select("v.value")))
    .orderBy("next_time");
}
