/** Whether a staged file still has the bytes that were acknowledged: two clients, or a disk, may have written others over them. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { StagedFiles } from "../../../blobs/staged-files.ts";
import type { Store } from "../../../db/store.ts";
import type { ImportRow } from "./import-row.ts";

export interface CheckOptions {
  readonly store: Store;
  readonly files: StagedFiles;
}

/** Takes off what was never acknowledged. */
export async function isAsSent(row: ImportRow, { store, files }: CheckOptions): Promise<boolean> {
  if (!(await files.cut(row.file, row.received_bytes))) return false;
  const parts = await store.reader
    .selectFrom("advisory_import_part")
    .select(["part_offset", "size", "sha256"])
    .where("import_uid", "=", row.uid)
    .orderBy("part_offset")
    .execute();
  for (const { part_offset: start, size, sha256 } of parts) {
    const hash = createHash("sha256");
    const bytes = createReadStream(files.path(row.file), { start, end: start + size - 1 });
    for await (const chunk of bytes) hash.update(chunk as Buffer);
    if (hash.digest("hex") !== sha256) return false;
  }
  return true;
}
