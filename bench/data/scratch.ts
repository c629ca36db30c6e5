/** A group for what a measurement writes, and its removal with everything below it, so that the filled database stays as it was. */
import { openStore } from "../../packages/server/src/db/open.ts";
import { appendToCounts, dropCounts } from "../../packages/server/src/db/resource-count.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { rangeAtOrBelow } from "../../packages/server/src/lib/uid.ts";
import type { Served } from "../servers.ts";

const TABLES = ["role_binding", "identity", "group"] as const;
const BATCH = 500;

export async function makeScratchGroup({ fetch, contents }: Pick<Served, "fetch" | "contents">): Promise<string> {
  const text = await fetch("POST", `/iam/v2/groups/${contents.organization}`, '{"name":"scratch"}');
  return (JSON.parse(text) as { uid: string }).uid;
}

/** In small transactions: the server is running, and others want to write. Events go, too. */
export async function removeScratchGroup({ target }: Pick<Served, "target">, group: string): Promise<void> {
  await using store = await openStore({ ...target, log: createLog("warn") });
  const { lower, upper } = rangeAtOrBelow(group);
  for (const table of TABLES) {
    for (let left = true; left; ) {
      left = await store.transaction(async (db) => {
        // From the end, so that children go before their parents.
        const rows = await db
          .selectFrom(table)
          .select("uid")
          .where("uid", ">=", lower)
          .where("uid", "<", upper)
          .orderBy("uid", "desc")
          .limit(BATCH)
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
