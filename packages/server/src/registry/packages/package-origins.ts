/** Records the origin of each package of an organization's images. The image that was read last counts. */
import { sql } from "kysely";
import type { ReadDb, Store } from "../../db/store.ts";
import { rangeBelow, rootOf } from "../../lib/uid.ts";

const ORIGINS_PER_BATCH = 1000;

export async function recordOrigins(store: Store, digest: string, orgUid: string): Promise<void> {
  // The manifest, its repo and its organization may have been deleted.
  if ((await findFirstRepo(store.reader, digest, orgUid))?.startsWith(orgUid) !== true) return;
  for (let after: PackageOrigin | undefined = { name: "", type: "", origin: "" }; after !== undefined; ) {
    const batch = await readOrigins(store.reader, digest, after);
    await storeOrigins(store, orgUid, batch);
    after = batch.length < ORIGINS_PER_BATCH ? undefined : batch.at(-1);
  }
}

/** The organizations with a repo that has the manifest, without duplicates. One index lookup per organization. */
export async function findOrganizationsWith(db: ReadDb, digest: string): Promise<string[]> {
  const found: string[] = [];
  for (let after = ""; ; ) {
    const repoUid = await findFirstRepo(db, digest, after);
    if (repoUid === undefined) return found;
    const orgUid = rootOf(repoUid);
    found.push(orgUid);
    after = rangeBelow(orgUid).upper;
  }
}

/** The first repo from this uid on that has the manifest. */
async function findFirstRepo(db: ReadDb, digest: string, from: string): Promise<string | undefined> {
  const query = db.selectFrom("manifest").select("repo_uid").where("digest", "=", digest).where("repo_uid", ">=", from);
  return (await query.orderBy("repo_uid").limit(1).executeTakeFirst())?.repo_uid;
}

interface PackageOrigin {
  readonly type: string;
  readonly name: string;
  readonly origin: string;
}

async function readOrigins(db: ReadDb, digest: string, { name, type }: PackageOrigin): Promise<PackageOrigin[]> {
  const query = db
    .selectFrom("image_package")
    .select(["type", "name"])
    .select(({ fn }) => fn.min("origin").as("origin"))
    .where("digest", "=", digest)
    .where(({ eb, refTuple, tuple }) => eb(refTuple("name", "type"), ">", tuple(name, type)))
    .where("source", "=", "image");
  return query.groupBy(["name", "type"]).orderBy("name").orderBy("type").limit(ORIGINS_PER_BATCH).execute();
}

async function storeOrigins(store: Store, orgUid: string, origins: readonly PackageOrigin[]): Promise<void> {
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
          // All servers write the rows in the same order, which prevents deadlocks.
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
