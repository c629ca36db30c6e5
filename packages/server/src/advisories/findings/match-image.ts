/** Records which packages an image has, and requests those to be compared that no other image of the organization has. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { parseVerbatimPackageUrl } from "../../lib/package-url.ts";
import { packageKey } from "../model/package-key.ts";
import { insertRequests } from "../storage/match-requests.ts";
import type { MatchedPackageTable } from "../tables.ts";
import type { MatchContext } from "./match-context.ts";
import { type Batch, removeRequests } from "./requests.ts";

/** Packages per transaction. */
const CHUNK_SIZE = 1000;

export async function matchImage(batch: Batch, context: MatchContext): Promise<void> {
  const { orgUid, requests } = batch;
  const { reader } = context.store;
  for (const { name: digest, token } of requests) {
    const scan = await reader.selectFrom("image_scan").select("distribution").where("digest", "=", digest).executeTakeFirst();
    const imageId = scan && (await context.write((db) => beginImage(db, { orgUid, digest, time: context.now() })));
    const unmatched = new Set<string>();
    if (scan !== undefined && imageId !== undefined) {
      for (const chunk of await packagesOf(reader, { orgUid, digest, distribution: scan.distribution }))
        for (const key of await context.write((db) => linkPackages(db, imageId, chunk))) unmatched.add(key);
    }
    await context.write(async (db) => {
      const done = await removeRequests(db, { ...batch, requests: [{ name: digest, token }] });
      if (done.size === 0) return;
      const packages = [...unmatched].map((name) => ({ org_uid: orgUid, kind: "package" as const, name }));
      await insertRequests(db, [...packages, { org_uid: orgUid, kind: token === "" ? "quiet" : "alert", name: digest }]);
    });
  }
}

interface BegunImage {
  readonly orgUid: string;
  readonly digest: string;
  readonly time: Date;
}

/** Undefined if collection deleted the image meanwhile. */
async function beginImage(db: WriteDb, { orgUid, digest, time }: BegunImage): Promise<number | undefined> {
  const scan = db.selectFrom("image_scan").select("digest").where("digest", "=", digest);
  if ((await db.dialect.forKeyShare(scan).executeTakeFirst()) === undefined) return undefined;
  const match_time = time.toISOString();
  const { id } = await db
    .insertInto("matched_image")
    .values({ org_uid: orgUid, digest, match_time })
    .onConflict((conflict) => conflict.columns(["digest", "org_uid"]).doUpdateSet({ match_time }))
    .returning("id")
    .executeTakeFirstOrThrow();
  // A manifest is seldom read twice.
  await db.deleteFrom("matched_image_package").where("image_id", "=", id).execute();
  return id;
}

type NewPackage = Omit<MatchedPackageTable, "id" | "is_matched">;

interface ReadImage {
  readonly orgUid: string;
  readonly digest: string;
  readonly distribution: string;
}

async function packagesOf(db: ReadDb, { orgUid, digest, distribution }: ReadImage): Promise<NewPackage[][]> {
  const rows = await db
    .selectFrom("image_package")
    .select(["type", "name", "version", "origin", "source", "purl"])
    .where("digest", "=", digest)
    .execute();
  const unique = new Map<string, NewPackage>();
  for (const { type, name, version, origin, source, purl } of rows) {
    const from = !isDistributed(type) ? "" : source === "image" ? distribution : distributionOf(purl);
    const keys = { match_name: packageKey(type, name), match_origin: packageKey(type, origin) };
    unique.set([type, name, version, origin, from].join("\0"), {
      org_uid: orgUid,
      type,
      name,
      version,
      origin,
      distribution: from,
      ...keys,
    });
  }
  // All servers write packages in the same order, which prevents deadlocks.
  const sorted = [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  return Array.from({ length: Math.ceil(sorted.length / CHUNK_SIZE) }, (_, i) => sorted.slice(i * CHUNK_SIZE, (i + 1) * CHUNK_SIZE));
}

function isDistributed(type: string): boolean {
  return type === "apk" || type === "deb" || type === "rpm";
}

/** `alpine 3.22.1` from the qualifier `alpine-3.22.1`, or else the namespace. */
function distributionOf(purl: string): string {
  const url = parseVerbatimPackageUrl(purl);
  const [, id, version] = /^(.+?)-(\d.*)$/.exec(url?.qualifiers.distro ?? "") ?? [];
  return id === undefined ? (url?.qualifiers.distro ?? url?.namespace ?? "") : `${id} ${version}`;
}

const COLUMNS = {
  org_uid: "text",
  type: "text",
  name: "text",
  version: "text",
  origin: "text",
  distribution: "text",
  match_name: "text",
  match_origin: "text",
} as const;

/** @returns the keys of those that were not compared yet */
async function linkPackages(db: WriteDb, imageId: number, packages: readonly NewPackage[]): Promise<readonly string[]> {
  const given = db.dialect.rowsOf(packages, COLUMNS);
  const columns = sql.raw(Object.keys(COLUMNS).join(", "));
  await sql`insert into matched_package (${columns}, is_matched) select ${columns}, 0 from ${given} as g where 1 = 1 on conflict do nothing`.execute(
    db,
  );
  const isSame = sql`p.org_uid = g.org_uid and p.name = g.name and p.version = g.version and p.type = g.type and p.origin = g.origin
    and p.distribution = g.distribution`;
  const { rows } = await sql<{ id: number; match_name: string; is_matched: number }>`
    select p.id, p.match_name, p.is_matched from ${given} as g cross join matched_package as p where ${isSame}`.execute(db);
  const links = db.dialect.rowsOf(
    rows.map(({ id }) => ({ package_id: id })),
    { package_id: "bigint" },
  );
  await sql`insert into matched_image_package (image_id, package_id) select ${imageId}, l.package_id from ${links} as l where 1 = 1
    on conflict do nothing`.execute(db);
  return rows.filter(({ is_matched }) => is_matched === 0).map(({ match_name }) => match_name);
}
