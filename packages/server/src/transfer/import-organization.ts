/**
 * Imports an organization into a server that has none of its uids. The blobs come first, and are kept if the import is
 * interrupted. All rows come in one transaction.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { blobPath, type ListedBlob, readBlobLines } from "../backup/snapshot.ts";
import { type BackupTarget, NoSuchObject } from "../backup/target.ts";
import { hasDigest } from "../blobs/digest.ts";
import { linkBlob } from "../blobs/link-blob.ts";
import { putBlob } from "../blobs/put-blob.ts";
import { type BlobReference, contentReferences } from "../blobs/references.ts";
import { countAllRemovals } from "../blobs/removal.ts";
import { type BlobStore, DigestMismatch } from "../blobs/store.ts";
import type { CountedRows } from "../db/count-check.ts";
import type { ReadDb, Store, WriteDb } from "../db/store.ts";
import { readTableShapes } from "../db/table-columns.ts";
import { eachConcurrently } from "../lib/each-concurrently.ts";
import { isInRoot, isUid } from "../lib/uid.ts";
import { BLOB_LIST, type ExportedOrganization, FORMAT, MANIFEST, readJson, verifyExport } from "./export-format.ts";
import type { TransferReport } from "./export-organization.ts";
import { ImportedRows } from "./imported-rows.ts";
import { inOrganization, isCarried, type OrganizationTables } from "./organization-tables.ts";
import { hasRows } from "./read-organization.ts";
import type { ServerSecrets } from "./sealed-values.ts";

export interface ImportParts {
  readonly target: BackupTarget;
  readonly exported: ExportedOrganization;
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly tables: OrganizationTables;
  readonly references: readonly BlobReference[];
  readonly countedRows: readonly CountedRows[];
  readonly secrets: ServerSecrets;
  /** Key of the secrets in the export; undefined to leave them out. */
  readonly transferKey: Uint8Array | undefined;
  readonly baseUrl: string;
  readonly schema: number;
  /** Makes room in the feed of events. @returns the number to add to the positions */
  reservePositions(db: WriteDb, positions: NonNullable<ExportedOrganization["positions"]>): Promise<number>;
  /** Called at the end of the transaction. */
  onImported(db: WriteDb): Promise<void>;
}

export interface ImportResult {
  readonly rows: number;
  /** Rows of tables that organizations share, which the server had already. */
  readonly present: number;
  /** Number of things that were left out, by their kind. */
  readonly leftOut: ReadonlyMap<string, number>;
}

const CONCURRENCY = 4;
const MAX_ATTEMPTS = 20;

/** @throws Error for the operator if the target has no complete export, or one of another format */
export async function readExport(target: BackupTarget): Promise<ExportedOrganization> {
  const exported = await readJson<ExportedOrganization>(target, MANIFEST);
  if (exported === undefined) throw new Error(`${target.name} has no complete export of an organization`);
  if (exported.format !== FORMAT) throw new Error(`the export has format ${exported.format}; this program reads format ${FORMAT}`);
  return exported;
}

/** @throws Error for the operator; the server has no rows of the organization then */
export async function importOrganization(parts: ImportParts, report: TransferReport): Promise<ImportResult> {
  const { target, exported, store } = parts;
  assertIsOrganization(exported);
  await assertSameSchema(parts);
  report.step("verifying the export");
  await verifyExport(target, exported);
  await assertAbsent(store.reader, parts);
  for (let attempt = 1; ; attempt++) {
    const removals = await countAllRemovals(store.reader);
    report.step("copying blobs");
    const listed = await copyBlobs(parts, report);
    report.step("copying rows");
    try {
      return await store.transaction((db) => importRows(db, parts, { listed, removals }), { hasNoTimeLimit: true });
    } catch (error) {
      if (!(error instanceof BlobsMayBeGone) || attempt === MAX_ATTEMPTS) throw error;
      await sleep(100 * attempt);
    }
  }
}

/** Collection has removed content since this import copied it, perhaps the same. Rolls the transaction back. */
class BlobsMayBeGone extends Error {
  override readonly name = "BlobsMayBeGone";
}

/** With another uid, the rows would belong to a group of an organization that is here. */
function assertIsOrganization({ organization: { uid } }: ExportedOrganization): void {
  if (!isUid(uid) || !isInRoot(uid)) throw new Error(`"${uid}" in the export is not the uid of an organization`);
}

async function assertSameSchema({ store, exported, schema, tables }: ImportParts): Promise<void> {
  if (exported.schema !== schema)
    throw new Error(
      `the export is of Holt ${exported.version} with schema ${exported.schema}, and this server has schema ${schema}: ` +
        `upgrade the ${exported.schema < schema ? "other server, and export again" : "this server"}`,
    );
  const shapes = await readTableShapes(store.reader);
  for (const { name, columns } of exported.tables) {
    const here = shapes.get(name)?.columns.toSorted().join();
    const ownership = tables[name];
    if (ownership === undefined || !isCarried(ownership) || here !== columns.toSorted().join())
      throw new Error(`the table ${name} of the export is not that of this server`);
  }
}

/** Messages for the tables that keep rows of an organization after its deletion. */
const REMAINS: Readonly<Record<string, (organization: string) => string>> = {
  outbox: (organization) =>
    `had the organization ${organization} before, and still has its events; import it when they are older than HOLT_EVENT_RETENTION`,
};

/** @throws Error for the operator if the server has anything of the organization */
async function assertAbsent(db: ReadDb, { exported, tables }: ImportParts): Promise<void> {
  const { uid, name } = exported.organization;
  for (const [table, ownership] of Object.entries(tables)) {
    if (!isCarried(ownership) || ownership.sharedBy !== undefined || ownership.newRows !== undefined) continue;
    if (!(await hasRows(db, table, ownership, uid))) continue;
    throw new Error(
      `this server ${REMAINS[table]?.(`${name} (${uid})`) ?? `has the organization ${name} (${uid}) already: its table ${table} has rows of it`}`,
    );
  }
}

interface CopiedBlobs {
  /** The digests of the blobs that the export has. */
  readonly listed: ReadonlySet<string>;
  /** The removals of blobs before the first one was copied. */
  readonly removals: number;
}

async function copyBlobs({ target, store, blobs }: ImportParts, report: TransferReport): Promise<CopiedBlobs["listed"]> {
  const listed = new Set<string>();
  const seen = { blobs: 0, bytes: 0 };
  await eachConcurrently(readBlobLines(target, BLOB_LIST), CONCURRENCY, async (blob) => {
    await linkBlob(
      store,
      blob.digest,
      () => storeBlob(target, blobs, blob),
      async () => {},
    );
    listed.add(blob.digest);
    seen.blobs++;
    seen.bytes += blob.size;
    report.progress(seen);
  });
  return listed;
}

/**
 * The blob store compares the digest, and its write is durable. The export must have the bytes also of a blob that is
 * here: it may belong to others.
 */
async function storeBlob(target: BackupTarget, blobs: BlobStore, { digest, size }: ListedBlob): Promise<number> {
  try {
    const bytes = await target.read(blobPath(digest));
    const isHere = (await blobs.stat(digest))?.size === size;
    if (!isHere) return await putBlob(blobs, digest, bytes, `import-${digest.replace(":", "-").slice(0, 100)}`);
    if (await hasDigest(bytes, digest)) return size;
    throw new DigestMismatch();
  } catch (error) {
    if (error instanceof DigestMismatch) throw new Error(`the blob ${digest} of the export is damaged`, { cause: error });
    if (error instanceof NoSuchObject) throw new Error(`the export has lost the blob ${digest}`, { cause: error });
    throw error;
  }
}

async function importRows(db: WriteDb, parts: ImportParts, { listed, removals }: CopiedBlobs): Promise<ImportResult> {
  const { target, exported, tables } = parts;
  await assertAbsent(db, parts);
  const imported = new ImportedRows(db, { ...parts, listed }, await readTableShapes(db));
  const known = new Map(exported.tables.map((table) => [table.name, table]));
  // Events come last: nothing is published while their positions are reserved.
  const names = Object.keys(tables).toSorted((a, b) => Number(hasPosition(tables, a)) - Number(hasPosition(tables, b)));
  for (const name of names) {
    const table = known.get(name);
    if (table !== undefined) await imported.insert(target, table);
  }
  await imported.verify();
  await imported.insertCounts();
  await assertBlobsStay(db, parts, removals);
  await parts.onImported(db);
  return imported.result();
}

function hasPosition(tables: OrganizationTables, name: string): boolean {
  const ownership = tables[name];
  return ownership !== undefined && isCarried(ownership) && ownership.position !== undefined;
}

/** The rows lock their blobs, so no new removal can begin. */
async function assertBlobsStay(db: WriteDb, { references, exported }: ImportParts, removals: number): Promise<void> {
  const digests = contentReferences(references).map(
    ({ table, column, holder }) =>
      sql`select ${sql.ref(column)} from ${sql.table(table)} where ${inOrganization(holder, exported.organization.uid)}`,
  );
  const { rows } = await sql`select 1 from blob
    where removal_time is not null and digest in (${sql.join(digests, sql` union `)}) limit 1`.execute(db);
  if (rows.length > 0 || (await countAllRemovals(db)) !== removals) throw new BlobsMayBeGone("content is being removed; repeat the import");
}
