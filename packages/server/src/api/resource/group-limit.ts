/** Limits how many resources of a kind a group has as children. */
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition } from "../../lib/errors.ts";

export interface GroupLimit {
  readonly count: number;
  /** Reason of the error, such as "TOO_MANY_SIGNATURE_KEYS". */
  readonly reason: string;
  /** Plural of the kind, for the message. */
  readonly what: string;
}

/** Call it before the resource is created, in its transaction. @throws FAILED_PRECONDITION */
export async function assertBelowGroupLimit(
  table: "signature_key" | "signature_identity",
  group: string,
  { count, reason, what }: GroupLimit,
  db: WriteDb,
): Promise<void> {
  // Children of a group are created one after another, so that the count holds.
  await db.dialect.forUpdate(db.selectFrom("group").select("uid").where("uid", "=", group)).execute();
  const children = await db.selectFrom(table).select("uid").where("parent", "=", group).limit(count).execute();
  if (children.length >= count) throw failedPrecondition(reason, `a group has at most ${count} ${what}: delete one`);
}
