/** Deletes most bindings of a person in chunks, before the person leaves. Anyone can have made very many of them. */
import { sql } from "kysely";
import type { Store } from "../../db/store.ts";
import { deleteAllButLastChunk } from "../../jobs/delete-in-chunks.ts";
import { rangeBelow } from "../../lib/uid.ts";
import { deleteBindingsOf } from "../grants/bindings.ts";
import type { Grants } from "../grants/grants.ts";
import { assertNotLastOwner, OWNER_ROLE } from "./last-owner.ts";

/** Bindings per transaction. */
const CHUNK_SIZE = 500;

interface Collaborators {
  readonly store: Store;
  readonly grants: Pick<Grants, "recordChange">;
}

/** Condition of the person's bindings in one organization, or in all. */
export function bindingsOf(identityUid: string, orgUid?: string) {
  const own = sql<boolean>`identity_uid = ${identityUid}`;
  if (orgUid === undefined) return own;
  const { lower, upper } = rangeBelow(orgUid);
  return sql<boolean>`${own} and uid >= ${lower} and uid < ${upper}`;
}

/**
 * Leaves the bindings of owners to the transaction that decides, and about one chunk of the others. Does nothing where
 * there are few.
 * @throws FAILED_PRECONDITION if the person is the last owner of an organization
 */
export async function deleteMostBindings({ store, grants }: Collaborators, identityUid: string, orgUid?: string): Promise<void> {
  await store.transaction((db) => assertNotLastOwner(db, identityUid, orgUid));
  const isOwners = sql<boolean>`length(parent) = 40 and role_uid = ${OWNER_ROLE}`;
  const condition = sql<boolean>`${bindingsOf(identityUid, orgUid)} and not (${isOwners})`;
  const rows = { table: "role_binding", key: ["uid"], condition };
  await deleteAllButLastChunk({ store, chunkSize: CHUNK_SIZE }, rows, async (db, limit) => {
    const deleted = await deleteBindingsOf(db, condition, limit);
    await grants.recordChange(db, [identityUid]);
    return deleted.length;
  });
}
