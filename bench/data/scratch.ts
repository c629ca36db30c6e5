/**
 * Creates a scratch group for the writes of a measurement and removes it with its contents, so that the filled database
 * does not change.
 */
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { appendToCounts, dropCounts } from "../../packages/server/src/db/resource-count.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { rangeAtOrBelow } from "../../packages/server/src/lib/uid.ts";
import type { Served } from "../servers.ts";

const TABLES = ["role_binding", "identity", "group"] as const;
const ROWS_PER_TRANSACTION = 500;

export async function makeScratchGroup({ fetch, contents }: Pick<Served, "fetch" | "contents">): Promise<string> {
  const body = await fetch("POST", `/iam/v2/groups/${contents.organization}`, '{"name":"scratch"}');
  return (JSON.parse(body) as { uid: string }).uid;
}

/** Deletes in small transactions, because the running server also writes. Deletes the events, too. */
export async function removeScratchGroup({ target }: Pick<Served, "target">, group: string): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  const { lower, upper } = rangeAtOrBelow(group);
  for (const table of TABLES) {
    for (let left = true; left; ) {
      left = await store.transaction(async (db) => {
        // In descending order, so that children are deleted before their parents.
        const rows = await db
          .selectFrom(table)
          .select("uid")
          .where("uid", ">=", lower)
          .where("uid", "<", upper)
          .orderBy("uid", "desc")
          .limit(ROWS_PER_TRANSACTION)
          .execute();
        const uids = rows.map((row) => row.uid);
        if (uids.length === 0) return false;
        await db.deleteFrom(table).where("uid", "in", uids).execute();
        await appendToCounts(db, table, uids, -1);
        return true;
      });
    }
  }
  await store.transaction(async (db) => {
    await db.deleteFrom("outbox").where("group_uid", ">=", lower).where("group_uid", "<", upper).execute();
    await dropCounts(db, group);
  });
}
