/**
 * Records the progress of uploads to a bucket in the database, so that any server can continue them. One append or
 * commit at a time holds an upload. A part counts once it is recorded by the holder, with the ETag of its bytes.
 */
import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import { systemClock } from "../../lib/clock.ts";
import { NoSuchUpload, RangeMismatch } from "../store.ts";
import type { BlobUploadTable } from "../tables.ts";
import type { StoredPart } from "./s3-bucket.ts";

export type UploadRow = Selectable<BlobUploadTable>;

/** An upload is held for this long after the last recorded part. The clocks of the servers must agree within half of it. */
const HOLD_MS = 120_000;

const EMPTY = { size: 0, multipart: null, tail: null, tail_size: 0, sha256: null, object_etag: null, is_committed: 0 };

export interface HeldUpload {
  readonly row: UploadRow;
  readonly holder: string;
}

/** @throws RangeMismatch if it has another size or is held; NoSuchUpload if it is committed */
export function holdForAppend(store: Store, upload: string, offset: number): Promise<HeldUpload> {
  return store.transaction(async (db) => {
    if (offset === 0) await insertEmpty(db, upload);
    const row = await lock(db, upload);
    if (row === undefined) throw new RangeMismatch(0);
    if (row.is_committed === 1) throw new NoSuchUpload(upload);
    if (row.size !== offset) throw new RangeMismatch(row.size);
    return { row, holder: await hold(db, row) };
  });
}

/** @throws NoSuchUpload; RangeMismatch if it is held */
export function holdForCommit(store: Store, upload: string): Promise<HeldUpload> {
  return store.transaction(async (db) => {
    const row = await lock(db, upload);
    if (row === undefined) throw new NoSuchUpload(upload);
    return { row, holder: await hold(db, row) };
  });
}

/** Stores progress, and keeps the hold. @throws RangeMismatch if another one holds the upload meanwhile */
export function recordProgress(
  store: Store,
  { upload, holder }: { readonly upload: string; readonly holder: string },
  progress: Partial<Omit<UploadRow, "upload">>,
  part?: StoredPart & { readonly part: number },
): Promise<void> {
  return store.transaction(async (db) => {
    const now = systemClock.now();
    const held = await db
      .updateTable("blob_upload")
      .set({ holder_until: endOfHold(now), update_time: now.toISOString(), ...progress })
      .where("upload", "=", upload)
      .where("holder", "=", holder)
      .executeTakeFirst();
    if (held.numUpdatedRows === 0n) throw new RangeMismatch((await findUpload(db, upload))?.size ?? 0);
    if (part !== undefined)
      await db
        .insertInto("blob_upload_part")
        .values({ upload, ...part })
        .execute();
  });
}

/** Does nothing if another one holds the upload. */
export async function letGo(store: Store, upload: string, holder: string): Promise<void> {
  await store.transaction((db) =>
    db
      .updateTable("blob_upload")
      .set({ holder: null, holder_until: null })
      .where("upload", "=", upload)
      .where("holder", "=", holder)
      .execute(),
  );
}

export function findUpload(db: ReadDb, upload: string): Promise<UploadRow | undefined> {
  return db.selectFrom("blob_upload").selectAll().where("upload", "=", upload).executeTakeFirst();
}

export async function findParts(db: ReadDb, upload: string): Promise<StoredPart[]> {
  return db.selectFrom("blob_upload_part").select(["etag", "checksum"]).where("upload", "=", upload).orderBy("part").execute();
}

export async function countParts(db: ReadDb, upload: string): Promise<number> {
  const query = db.selectFrom("blob_upload_part").select((eb) => eb.cast<number>(eb.fn.countAll(), "integer").as("count"));
  return (await query.where("upload", "=", upload).executeTakeFirstOrThrow()).count;
}

/** Creates the row of an upload that only this server knows. @returns its holder */
export function createRow(store: Store, upload: string): Promise<string> {
  return store.transaction(async (db) => {
    await insertEmpty(db, upload);
    const row = await lock(db, upload);
    if (row === undefined) throw new NoSuchUpload(upload);
    return hold(db, row);
  });
}

export async function findStaleUploads(db: ReadDb, before: Date): Promise<string[]> {
  const rows = await db.selectFrom("blob_upload").select("upload").where("update_time", "<", before.toISOString()).execute();
  return rows.map(({ upload }) => upload);
}

async function insertEmpty(db: WriteDb, upload: string): Promise<void> {
  await db
    .insertInto("blob_upload")
    .values({ upload, ...EMPTY, holder: null, holder_until: null, update_time: systemClock.now().toISOString() })
    .onConflict((conflict) => conflict.column("upload").doNothing())
    .execute();
}

function lock(db: WriteDb, upload: string): Promise<UploadRow | undefined> {
  return db.dialect.forUpdate(db.selectFrom("blob_upload").selectAll().where("upload", "=", upload)).executeTakeFirst();
}

async function hold(db: WriteDb, { upload, size, holder_until }: UploadRow): Promise<string> {
  const now = systemClock.now();
  if (holder_until !== null && holder_until > now.toISOString()) throw new RangeMismatch(size);
  const holder = randomUUID();
  await db
    .updateTable("blob_upload")
    .set({ holder, holder_until: endOfHold(now), update_time: now.toISOString() })
    .where("upload", "=", upload)
    .execute();
  return holder;
}

function endOfHold(now: Date): string {
  return new Date(now.getTime() + HOLD_MS).toISOString();
}
