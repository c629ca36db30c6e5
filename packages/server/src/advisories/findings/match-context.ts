/** Context that all steps of a comparison share. */
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Publication } from "../documents/publication.ts";
import type { Roots } from "./load-candidates.ts";

export interface MatchContext {
  readonly store: Store;
  readonly publication: Publication;
  now(): Date;
  /** A transaction that has locked the organization's turn. @throws LostLease */
  write<T>(work: (db: WriteDb) => Promise<T>): Promise<T>;
}

/** The organizations whose advisories apply to images of the organization. */
export async function applicableRoots({ publication }: MatchContext, db: ReadDb, orgUid: string): Promise<Roots> {
  const roots = await publication.roots(db);
  return roots === "all" ? roots : [...new Set([orgUid, ...roots])];
}
