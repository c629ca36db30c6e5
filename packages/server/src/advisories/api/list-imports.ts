/** Lists the imports of a group, newest first. */
import { create } from "@bufbuild/protobuf";
import { type ListImportsRequest, type ListImportsResponse, ListImportsResponseSchema } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Call } from "../../api/call/call.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import { importFromRow } from "../import/remote/import-row.ts";

export async function listImports(request: ListImportsRequest, call: Call, tokens: PageTokens): Promise<ListImportsResponse> {
  const { parent, pageToken, pageSize } = request;
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOf(call, parent);
  const after = pageToken === "" ? undefined : tokens.open(pageToken, binding, call.now);
  const rows = await call.db
    .selectFrom("advisory_import")
    .selectAll()
    .where("parent", "=", parent)
    .$if(after !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) => eb(refTuple("create_time", "uid"), "<", tuple(after?.key ?? "", after?.uid ?? ""))),
    )
    .orderBy("create_time", "desc")
    .orderBy("uid", "desc")
    .limit(limit + 1)
    .execute();
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return create(ListImportsResponseSchema, {
    imports: rows.slice(0, limit).map(importFromRow),
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.create_time, uid: last.uid, skipped: 0 }, binding, call.now),
  });
}
