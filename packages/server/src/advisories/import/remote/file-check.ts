/** Checks that a staged file has the bytes that were acknowledged: a second client or a disk may have overwritten them. */
import { createReadStream } from "node:fs";
import type { Store } from "../../../db/store.ts";
import { hashBytes } from "../../../lib/hash-bytes.ts";
import type { ImportRow } from "./import-row.ts";

export interface CheckOptions {
  readonly store: Store;
}

/** @param path of the staged file, which has the acknowledged bytes only */
export async function isAsSent(row: ImportRow, path: string, { store }: CheckOptions): Promise<boolean> {
  const parts = await store.reader
    .selectFrom("advisory_import_part")
    .select(["part_offset", "size", "sha256"])
    .where("import_uid", "=", row.uid)
    .orderBy("part_offset")
    .execute();
  for (const { part_offset: start, size, sha256 } of parts) {
    const bytes = createReadStream(path, { start, end: start + size - 1 });
    if ((await hashBytes(bytes, "sha256")) !== sha256) return false;
  }
  return true;
}
