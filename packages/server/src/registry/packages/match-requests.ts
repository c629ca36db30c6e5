/** Requests that the packages of an image are compared with advisories. The domain of advisories works on the requests. */
import { randomUUID } from "node:crypto";
import type { WriteDb } from "../../db/store.ts";

/** @param organizations sorted uids */
export async function requestMatching(db: WriteDb, digest: string, organizations: readonly string[]): Promise<void> {
  const token = randomUUID();
  for (const org_uid of organizations)
    await db
      .insertInto("match_request")
      .values({ org_uid, kind: "image", name: digest, token })
      .onConflict((conflict) => conflict.columns(["org_uid", "kind", "name"]).doUpdateSet({ token }))
      .execute();
}
