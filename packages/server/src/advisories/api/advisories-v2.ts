/** Advisories in version 2 of the API, which only reads. */
import { AdvisoriesService, ListAdvisoriesResponseSchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { JsonText } from "../../api/call/call.ts";
import { implement, read } from "../../api/call/implement.ts";
import { getBody } from "../../api/resource/get.ts";
import { listResponse } from "../../api/resource/list-text.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { advisories } from "../resource.ts";
import { addSeverities } from "../storage/severities.ts";
import { listAdvisories } from "./list-advisories.ts";

export function advisoriesServiceV2({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(AdvisoriesService, {
    getAdvisory: read(async ({ uid }, { db }) => {
      const { schema, text } = await getBody(advisories, uid, db);
      const [body = text] = await addSeverities(db, [{ uid, body: text }]);
      return new JsonText(schema, body);
    }),

    listAdvisories: read(async (request, call) => {
      const page = await listAdvisories(request, call, { pageTokens, show: (rows) => addSeverities(call.db, rows) });
      return listResponse(ListAdvisoriesResponseSchema, page);
    }),
  });
}
