/** Records for an organization from which source package each package of its images is built. The image that was recorded last wins. */
import { sql } from "kysely";
import type { ReadDb, Store } from "../../db/store.ts";
import { rangeBelow, rootOf } from "../../lib/uid.ts";

/** Origins per query and transaction. */
const BATCH_SIZE = 1000;

export async function recordOrigins(store: Store, digest: string, orgUid: string): Promise<void> {
  // The repo may be deleted by now, and the organization as well.
  if ((await firstRepo(store.reader, digest, orgUid))?.startsWith(orgUid) !== true) return;
  for (let after: Origin | undefined = { name: "", type: "", origin: "" }; after !== undefined; ) {
    const batch = await readOrigins(store.reader, digest, after);
    await write(store, orgUid, batch);
    after = batch.length < BATCH_SIZE ? undefined : batch.at(-1);
  }
}

/** The organizations that have the manifest in a repo, each found by one step into an index. */
export async function organizationsWith(db: ReadDb, digest: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ; ) {
    const repoUid = await firstRepo(db, digest, after);
    if (repoUid === undefined) return found;
    const orgUid = rootOf(repoUid);
    found.push(orgUid);
    after = rangeBelow(orgUid).upper;
  }
}

/** The first repo from this uid on that has the manifest. */
async function firstRepo(db: ReadDb, digest: string, from: string): Promise<string | undefined> {
  const query = db.selectFrom("manifest").select("repo_uid").where("digest", "=", digest).where("repo_uid", ">=", from);
  return (await query.orderBy("repo_uid").limit(1).executeTakeFirst())?.repo_uid;
}

interface Origin {
  readonly type: string;
  readonly name: string;
  readonly origin: string;
}

async function readOrigins(db: ReadDb, digest: string, { name, type }: Origin): Promise<Origin[]> {
  const query = db
    .selectFrom("image_package")
    .select(["type", "name"])
    .select(({ fn }) => fn.min("origin").as("origin"))
    .where("digest", "=", digest)
    .where(({ eb, refTuple, tuple }) => eb(refTuple("name", "type"), ">", tuple(name, type)))
    .where("source", "=", "image");
  return query.groupBy(["name", "type"]).orderBy("name").orderBy("type").limit(BATCH_SIZE).execute();
}

async function write(store: Store, orgUid: string, origins: readonly Origin[]): Promise<void> {
  if (origins.length === 0) return;
  const columns = { type: "text", name: "text", origin: "text" } as const;
  await store.transaction((db) =>
    db
      .insertInto("package_origin")
      .columns(["org_uid", "type", "name", "origin"])
      .expression((eb) =>
        eb
          .selectFrom(db.dialect.rowsOf(origins, columns).as("r"))
          .select([sql.val(orgUid).as("org_uid"), "r.type", "r.name", "r.origin"])
          .where("r.name", ">", "")
          // All servers write the same rows in the same order, to avoid deadlocks.
          .orderBy("r.type")
          .orderBy("r.name"),
      )
      .onConflict((conflict) =>
        conflict
          .columns(["org_uid", "type", "name"])
          .doUpdateSet((eb) => ({ origin: eb.ref("excluded.origin") }))
          .whereRef("package_origin.origin", "!=", "excluded.origin"),
      )
      .execute(),
  );
}
