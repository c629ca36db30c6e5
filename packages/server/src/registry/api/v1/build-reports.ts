/** Builds of images in version 1 of the API, from the provenance that was pushed with them. Version 2 has none. */
import { create } from "@bufbuild/protobuf";
import {
  type BuildReportFilter,
  BuildReportListSchema,
  BuildStatusSchema,
  type Registry,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { type Call, JsonText } from "../../../api/call/call.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { listCapabilities } from "../../../api/resource/conditions.ts";
import { viewOf } from "../../../api/resource/visible.ts";
import { parseTime } from "../../../lib/clock.ts";
import { invalidArgument } from "../../../lib/errors.ts";
import { rootOf } from "../../../lib/uid.ts";
import { type BuildWindow, listBuilds } from "../../builds/build-reports.ts";

const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1000;
const DAY_MS = 24 * 60 * 60_000;
/** Later than every time that a report can have. */
const END_OF_TIME = "9999-12-31T23:59:59.999Z";

export const buildReports = {
  listBuildReports: read(async (filter, call) => {
    const window = windowOf(filter, call);
    const reports = await listBuilds(call.db, window);
    return new JsonText(BuildReportListSchema, `{"reports":[${reports.join(",")}]}`);
  }),
  // Provenance describes builds that succeeded.
  getBuildStatus: read(async (filter, call) => {
    windowOf(filter, call);
    return create(BuildStatusSchema);
  }),
} satisfies Handlers<typeof Registry>;

/** Without times, the builds of the last day. @throws INVALID_ARGUMENT */
function windowOf(filter: BuildReportFilter, call: Call): BuildWindow {
  const { uidp, startedSince, startedBefore, pageSize } = filter;
  if (pageSize < 0) throw invalidArgument("page_size", "page_size must not be negative");
  const before = startedBefore === undefined ? END_OF_TIME : parseTime("started_before", startedBefore);
  const end = startedBefore === undefined ? call.now.getTime() : Date.parse(before);
  const since = startedSince === undefined ? new Date(end - DAY_MS).toISOString() : parseTime("started_since", startedSince);
  const scopes = call.access.scopes(listCapabilities(call));
  return {
    organizations: [...new Set(scopes.map(rootOf))],
    view: viewOf(scopes, uidp, { hasUidOfGroup: false }, call.db.dialect),
    since,
    before,
    limit: pageSize === 0 ? DEFAULT_PAGE_SIZE : Math.min(pageSize, MAX_PAGE_SIZE),
  };
}
