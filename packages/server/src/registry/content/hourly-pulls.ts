/**
 * Counts pulls by hour, and emits an event for each count when its hour is over. Servers that share a database share the
 * counts; a pull that is counted after that gets an event of its own.
 */
import { sql } from "kysely";
import type { Store, WriteDb } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { parentOf } from "../../lib/uid.ts";
import type { PullCountTable } from "../tables.ts";
import { appendPullCounts, type Pull, type RegistryNames } from "./oci-events.ts";

const HOUR_MS = 3_600_000;
/** How long after the end of an hour other servers may still write its pulls: their buffers, and clocks that differ. */
const SETTLE_MS = 10_000;
const COUNTS_PER_TRANSACTION = 500;

export interface HourlyPullsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly names: RegistryNames;
  readonly log: Log;
}

export interface HourlyPulls extends AsyncDisposable {
  /** Emits what is due soon. Costs next to nothing. */
  wake(): void;
}

export function startHourlyPulls(options: HourlyPullsOptions): HourlyPulls {
  return new Loop({
    name: "emitting the pulls of an hour",
    log: options.log,
    spacingMs: 100,
    async step() {
      while (await emitDue(options));
      return HOUR_MS - (options.clock.now().getTime() % HOUR_MS) + SETTLE_MS;
    },
  });
}

/** Adds pulls of manifests to the counts of their hours. */
export async function countPulls(db: WriteDb, pulls: readonly Pull[]): Promise<void> {
  for (const count of countsOf(pulls)) {
    await db
      .insertInto("pull_count")
      .values(count)
      .onConflict((conflict) =>
        conflict.columns(["hour", "repo_uid", "digest", "tag", "method", "identity_uid"]).doUpdateSet((eb) => ({
          count: sql<number>`pull_count.count + excluded.count`,
          repository: eb.ref("excluded.repository"),
          claims: eb.ref("excluded.claims"),
        })),
      )
      .execute();
  }
}

/** In the order of the key, so that servers that write the same counts do not deadlock. */
function countsOf(pulls: readonly Pull[]): PullCountTable[] {
  const counts = new Map<string, PullCountTable>();
  for (const { repoUid, digest, tag = "", method, origin, now } of pulls) {
    const { actor, repository } = origin;
    const key = { hour: hourOf(now), repo_uid: repoUid, digest, tag, method, identity_uid: actor.subject };
    const name = Object.values(key).join(" ");
    counts.set(name, {
      ...key,
      repository,
      claims: JSON.stringify(actor.claimsAt(parentOf(repoUid))),
      count: (counts.get(name)?.count ?? 0) + 1,
    });
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count);
}

function hourOf(time: Date): string {
  return new Date(time.getTime() - (time.getTime() % HOUR_MS)).toISOString();
}

/** @returns whether there may be more */
async function emitDue({ store, clock, names }: HourlyPullsOptions): Promise<boolean> {
  const now = clock.now();
  const current = hourOf(new Date(now.getTime() - SETTLE_MS));
  const due = await store.reader.selectFrom("pull_count").select("hour").where("hour", "<", current).limit(1).executeTakeFirst();
  if (due === undefined) return false;
  return store.transaction(async (db) => {
    const query = db.selectFrom("pull_count").selectAll().where("hour", "<", current);
    const counts = await db.dialect.forClaim(query.orderBy("hour").limit(COUNTS_PER_TRANSACTION)).execute();
    await appendPullCounts(db, counts, { ...names, now });
    for (const { hour, repo_uid, digest, tag, method, identity_uid } of counts) {
      await db
        .deleteFrom("pull_count")
        .where("hour", "=", hour)
        .where("repo_uid", "=", repo_uid)
        .where("digest", "=", digest)
        .where("tag", "=", tag)
        .where("method", "=", method)
        .where("identity_uid", "=", identity_uid)
        .execute();
    }
    return counts.length === COUNTS_PER_TRANSACTION;
  });
}
