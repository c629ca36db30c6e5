/** The precondition that an organization has accepted the operator's terms, for all that writes in it but what administers access. */
import type { Message } from "@bufbuild/protobuf";
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { type MissingDocument, termsNotAccepted } from "../../lib/errors.ts";
import { ancestry } from "../../lib/uid.ts";
import type { Operation } from "./operation.ts";

/** Documents that the operator demands; none where it demands nothing. */
export type RequiredTerms = readonly MissingDocument[];

/**
 * Who may come in and do what is administered without them: somebody must be let in who accepts them.
 * @throws FAILED_PRECONDITION that lists what is missing
 */
export async function assertTermsFor(operation: Operation, request: Message, required: RequiredTerms, db: ReadDb): Promise<void> {
  const { access, writes, domain } = operation;
  if (required.length === 0 || !writes || access.mode !== "scoped" || domain === "iam") return;
  await assertTermsAccepted(access.scopeOf(request), required, db);
}

/** What is accepted for a group counts there and everywhere below. @param uid of what is written, or of its parent */
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
