/** Demands that an organization has accepted the operator's terms before a call writes in it. Calls of iam are exempt. */
import type { Message } from "@bufbuild/protobuf";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { type MissingDocument, termsNotAccepted } from "../../lib/errors.ts";
import { ancestry } from "../../lib/uid.ts";
import type { Operation } from "./operation.ts";

/** Documents that the operator demands; may be empty. */
export type RequiredTerms = readonly MissingDocument[];

/**
 * Calls of iam need no accepted terms: an organization must first admit a person who accepts them.
 * @throws FAILED_PRECONDITION with the missing documents
 */
export async function assertTermsFor(operation: Operation, request: Message, required: RequiredTerms, db: ReadDb): Promise<void> {
  const { access, writes, domain } = operation;
  if (required.length === 0 || !writes || access.mode !== "scoped" || domain === "iam") return;
  await assertTermsAccepted(access.scopeOf(request), required, db);
}

/** Accepted terms of a group hold at the group and below. @param uid of the written resource, or of its parent */
export async function assertTermsAccepted(uid: string, required: RequiredTerms, db: ReadDb): Promise<void> {
  if (required.length === 0) return;
  const rows = await db
    .selectFrom("terms_acceptance")
    .select("doc_id")
    .where(sql<boolean>`org_uid in (select above.value from ${db.dialect.valuesOf(ancestry(uid))} as above)`)
    .execute();
  const accepted = new Set(rows.map((row) => row.doc_id));
  const missing = required.filter(({ id }) => !accepted.has(id));
  if (missing.length > 0) throw termsNotAccepted(missing);
}
