/** Records which legal documents have been accepted for a group. call/required-terms.ts demands them. */
import { create } from "@bufbuild/protobuf";
import {
  AcceptTermsResponseSchema,
  type ListTermsAcceptancesRequest,
  ListTermsAcceptancesResponseSchema,
  type TermsAcceptance,
  TermsAcceptanceSchema,
  TermsService,
} from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { and } from "../../api/resource/conditions.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { parseOrderBy } from "../../api/resource/order-by.ts";
import { bindingOf, type PageTokens, skippedUntil } from "../../api/resource/page-token.ts";
import { assertGroupExists } from "../../api/resource/write.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { ancestry } from "../../lib/uid.ts";
import type { TermsAcceptanceTable } from "../tables.ts";

const DOCUMENT_ID = /^[a-z0-9._-]{1,64}$/;
const MAX_DOCUMENTS = 25;
const ORDER = { orderBy: ["doc_id", "create_time", "accepted_by", "org_uid"], defaultOrder: "doc_id" };
/** Unique; orders acceptances that have the same sort value. */
const TIE = sql<string>`org_uid || ' ' || doc_id`;

export function termsService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(TermsService, {
    acceptTerms: write(async ({ group, documentIds }, call) => {
      assertDocumentIds(documentIds);
      await assertGroupExists(group, call.db);
      call.changed = await accept(group, [...new Set(documentIds)], call);
      return create(AcceptTermsResponseSchema, { group, documentIds });
    }),

    listTermsAcceptances: read((request, call) => listAcceptances(request, call, pageTokens)),
  });
}

function assertDocumentIds(ids: readonly string[]): void {
  if (ids.length > MAX_DOCUMENTS) throw invalidArgument("document_ids", `document_ids must have at most ${MAX_DOCUMENTS} elements`);
  if (!ids.every((id) => DOCUMENT_ID.test(id)))
    throw invalidArgument("document_ids", `each of document_ids must match "${DOCUMENT_ID.source}"`);
}

/** Keeps the first acceptance of a document. @returns whether any is new */
async function accept(group: string, ids: readonly string[], { db, principal, now }: WriteCall): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("terms_acceptance")
    .values(ids.map((id) => ({ org_uid: group, doc_id: id, accepted_by: principal?.uid ?? "", create_time: now.toISOString() })))
    .onConflict((conflict) => conflict.columns(["org_uid", "doc_id"]).doNothing())
    .executeTakeFirstOrThrow();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}

/** Lists the acceptances of the group and of all groups above it. */
async function listAcceptances(request: ListTermsAcceptancesRequest, call: Call, pageTokens: PageTokens) {
  const { limit, skip } = parsePageRequest(request);
  const { column, descending } = parseOrderBy(request.orderBy, ORDER);
  const binding = bindingOf(call, request.group, column, descending);
  const after = request.pageToken === "" ? undefined : pageTokens.open(request.pageToken, binding, call.now);
  const key = sql.ref<string>(column);
  const below = after && sql<boolean>`(${key} ${beyond(descending)} ${after.key} or (${key} = ${after.key} and ${TIE} > ${after.uid}))`;
  const where = sql<boolean>`org_uid in (select above.value from ${call.db.dialect.valuesOf(ancestry(request.group))} as above)`;
  const all = call.db.selectFrom("terms_acceptance").where(where);
  const { total } = await all.select((eb) => eb.fn.countAll<number | bigint>().as("total")).executeTakeFirstOrThrow();
  const rows = await all
    .selectAll()
    .select([key.as("key"), TIE.as("tie")])
    .where(and(below === undefined ? [] : [below]))
    .orderBy(key, descending ? "desc" : "asc")
    .orderBy(TIE)
    .limit(limit + 1)
    .offset(skip)
    .execute();
  const skipped = skippedUntil(after, skip);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return create(ListTermsAcceptancesResponseSchema, {
    termsAcceptances: rows.slice(0, limit).map(acceptanceOf),
    nextPageToken: last === undefined ? "" : pageTokens.seal({ key: last.key, uid: last.tie, skipped }, binding, call.now),
    totalCount: BigInt(total),
    skipped,
  });
}

function beyond(descending: boolean): RawBuilder<unknown> {
  return descending ? sql`<` : sql`>`;
}

function acceptanceOf(row: TermsAcceptanceTable): TermsAcceptance {
  return create(TermsAcceptanceSchema, {
    docId: row.doc_id,
    acceptedBy: row.accepted_by,
    orgUid: row.org_uid,
    createTime: timestampFromDate(new Date(row.create_time)),
  });
}
