/** Finds a published file by its artifact and its path. */
import type { ReadDb } from "../db/store.ts";
import type { Library } from "./library.ts";

/** In hexadecimal, except `digest`. */
export interface Digests {
  /** `sha256:<hex>`. */
  readonly digest: string;
  readonly sha1: string;
  readonly md5: string;
  readonly sha512: string;
}

export interface FoundFile extends Digests {
  readonly size: number;
  readonly create_time: string;
}

/** @param key of the artifact. @param path of the file in the artifact */
export function findFile(db: ReadDb, { groupUid, ecosystem }: Library, key: string, path: string): Promise<FoundFile | undefined> {
  return db
    .selectFrom("library_artifact as a")
    .innerJoin("library_file as f", "f.artifact_uid", "a.uid")
    .select(["f.digest", "f.size", "f.sha1", "f.md5", "f.sha512", "f.create_time"])
    .where("a.parent", "=", groupUid)
    .where("a.ecosystem", "=", ecosystem)
    .where("a.key", "=", key)
    .where("f.path", "=", path)
    .executeTakeFirst();
}
