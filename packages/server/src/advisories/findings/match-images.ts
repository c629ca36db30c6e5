/**
 * Records which packages images have, many images per transaction, and requests those to be compared that no other image of
 * the organization has.
 */
import { sql } from "kysely";
import type { WriteDb } from "../../db/store.ts";
import { deleteAllButLastChunk, deleteRows } from "../../jobs/delete-in-chunks.ts";
import { chunksBySize, inChunks } from "../../lib/chunks-by-size.ts";
import { insertWaiting } from "../storage/match-requests.ts";
import { type ImagePackage, packagesOfScans, readScans, type Scan } from "./image-packages.ts";
import type { MatchContext } from "./match-context.ts";
import { type Batch, type Request, removeRequests } from "./requests.ts";

/** Rows of `image_package`. Images with more are linked in several transactions, between which other requests run. */
const PACKAGES_PER_TRANSACTION = 1000;

export async function matchImages(batch: Batch, context: MatchContext): Promise<void> {
  const names = batch.requests.map(({ name }) => name);
  const scans = new Map((await readScans(context.store.reader, batch.orgUid, names)).map((scan) => [scan.digest, scan]));
  const sizeOf = ({ name }: Request) => scans.get(name)?.package_count ?? 0;
  for (const requests of chunksBySize(batch.requests, { sizeOf, maxSize: PACKAGES_PER_TRANSACTION }))
    await linkImages({ batch: { ...batch, requests }, scans: requests.flatMap(({ name }) => scans.get(name) ?? []), context });
}

interface Group {
  readonly batch: Batch;
  readonly scans: readonly Scan[];
  readonly context: MatchContext;
}

/** In one transaction, unless it is one image with many packages. */
async function linkImages({ batch, scans, context }: Group): Promise<void> {
  await removeMostLinks(batch, context);
  const packages = await packagesOfScans(context.store.reader, scans);
  let images: ReadonlyMap<string, number> = new Map();
  const steps = [
    async (db: WriteDb) => {
      images = await beginImages(db, { ...batch, scans, time: context.now() });
    },
    ...inChunks(packages, PACKAGES_PER_TRANSACTION).map((chunk) => async (db: WriteDb) => {
      const unmatched = await linkPackages(db, { orgUid: batch.orgUid, images }, chunk);
      await insertWaiting(
        db,
        unmatched.map((name) => ({ org_uid: batch.orgUid, kind: "package", name })),
      );
    }),
    (db: WriteDb) => endImages(db, batch),
  ];
  const transactions = packages.length <= PACKAGES_PER_TRANSACTION ? [steps] : steps.map((step) => [step]);
  for (const transaction of transactions)
    await context.write(async (db) => {
      for (const step of transaction) await step(db);
    });
}

/** Deletes links of images that were compared before, in chunks. `beginImages` deletes the last ones. */
function removeMostLinks({ orgUid, requests }: Batch, { store: { reader }, write }: MatchContext): Promise<void> {
  const digests = reader.dialect.valuesOf(requests.map(({ name }) => name));
  const condition = sql<boolean>`image_id in (
    select i.id from ${digests} as v cross join matched_image as i where i.digest = v.value and i.org_uid = ${orgUid})`;
  const links = { table: "matched_image_package", key: ["image_id", "package_id"], condition };
  const store = { reader, transaction: write };
  return deleteAllButLastChunk({ store, chunkSize: PACKAGES_PER_TRANSACTION }, links, (db, limit) => deleteRows(db, links, limit));
}

interface BegunImages {
  readonly orgUid: string;
  readonly scans: readonly Scan[];
  readonly time: Date;
}

/** @returns the ids by digest, without images that collection deleted meanwhile */
async function beginImages(db: WriteDb, { orgUid, scans, time }: BegunImages): Promise<ReadonlyMap<string, number>> {
  const given = db.dialect.valuesOf(scans.map(({ digest }) => digest));
  const present = db.selectFrom("image_scan").select("digest").where(sql<boolean>`digest in (select v.value from ${given} as v)`);
  const kept = (await db.dialect.forKeyShare(present.orderBy("digest")).execute()).map(({ digest }) => digest);
  const { rows } = await sql<{ id: number; digest: string }>`insert into matched_image (org_uid, digest, match_time)
    select ${orgUid}, v.value, ${time.toISOString()} from ${db.dialect.valuesOf(kept)} as v where 1 = 1 order by v.value
    on conflict (digest, org_uid) do update set match_time = excluded.match_time returning id, digest`.execute(db);
  const ids = db.dialect.rowsOf(
    rows.map(({ id }) => ({ id })),
    { id: "bigint" },
  );
  // A manifest is seldom read twice.
  await sql`delete from matched_image_package where image_id in (select w.id from ${ids} as w)`.execute(db);
  return new Map(rows.map(({ id, digest }) => [digest, id]));
}

interface Linking {
  readonly orgUid: string;
  /** Ids by digest. */
  readonly images: ReadonlyMap<string, number>;
}

/** @returns the keys of those that were not compared yet */
async function linkPackages(db: WriteDb, { orgUid, images }: Linking, packages: readonly ImagePackage[]): Promise<readonly string[]> {
  const known = await findPackages(db, orgUid, packages);
  const missing = packages.filter((_, number) => !known.has(number));
  await insertPackages(db, orgUid, missing);
  const added = await findPackages(db, orgUid, missing);
  const all = [
    ...[...known].map(([number, row]) => ({ ...row, ...packages[number]! })),
    ...[...added].map(([number, row]) => ({ ...row, ...missing[number]! })),
  ];
  const links = all.flatMap(({ id, digests }) =>
    [...digests].flatMap((digest) => {
      const image_id = images.get(digest);
      return image_id === undefined ? [] : [{ image_id, package_id: id }];
    }),
  );
  const rows = db.dialect.rowsOf(links, { image_id: "bigint", package_id: "bigint" });
  await sql`insert into matched_image_package (image_id, package_id) select l.image_id, l.package_id from ${rows} as l where 1 = 1
    on conflict do nothing`.execute(db);
  return all.filter(({ is_matched }) => is_matched === 0).map(({ match_name }) => match_name);
}

const IDENTITY = { type: "text", name: "text", version: "text", origin: "text", distribution: "text" } as const;

interface FoundPackage {
  readonly id: number;
  readonly is_matched: number;
}

/** By position in the list. */
async function findPackages(db: WriteDb, orgUid: string, packages: readonly ImagePackage[]): Promise<ReadonlyMap<number, FoundPackage>> {
  if (packages.length === 0) return new Map();
  const given = db.dialect.rowsOf(
    packages.map(({ type, name, version, origin, distribution }, number) => ({ number, type, name, version, origin, distribution })),
    { number: "bigint", ...IDENTITY },
  );
  const { rows } = await sql<FoundPackage & { readonly number: number }>`
    select g.number, p.id, p.is_matched from ${given} as g cross join matched_package as p where p.org_uid = ${orgUid} and p.name = g.name
      and p.version = g.version and p.type = g.type and p.origin = g.origin and p.distribution = g.distribution`.execute(db);
  return new Map(rows.map(({ number, id, is_matched }) => [number, { id, is_matched }]));
}

/** All servers write packages in the same order, which prevents deadlocks. */
async function insertPackages(db: WriteDb, org_uid: string, packages: readonly ImagePackage[]): Promise<void> {
  if (packages.length === 0) return;
  const columns = { ...IDENTITY, match_name: "text", match_origin: "text", origin_version: "text" } as const;
  const names = sql.raw(Object.keys(columns).join(", "));
  const given = db.dialect.rowsOf<Omit<ImagePackage, "digests">>(packages, columns);
  await sql`insert into matched_package (org_uid, ${names}, is_matched)
    select ${org_uid}, ${names}, 0 from ${given} as g where 1 = 1 on conflict do nothing`.execute(db);
}

/** A request without a token emits no event for its image. */
async function endImages(db: WriteDb, batch: Batch): Promise<void> {
  const { orgUid: org_uid, requests } = batch;
  const done = await removeRequests(db, batch);
  const looks = requests.filter(({ name }) => done.has(name));
  if (looks.length === 0) return;
  await insertWaiting(
    db,
    looks.map(({ name, token }) => ({ org_uid, kind: token === "" ? "quiet" : "alert", name })),
  );
}
