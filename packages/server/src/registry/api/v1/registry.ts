/** Assembles the registry's service of version 1 from the handlers of its topics. */
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { implement } from "../../../api/call/implement.ts";
import type { ReposCollaborators } from "../repos.ts";
import { buildReports } from "./build-reports.ts";
import { type ChartCollaborators, charts } from "./charts.ts";
import { deploymentHandlers } from "./deployments.ts";
import { eolTagHandlers } from "./eol-tags.ts";
import { imageContents } from "./image-contents.ts";
import { manifestMetadata } from "./manifest-metadata.ts";
import { packageVersions } from "./package-versions.ts";
import { registrySettingsHandlers } from "./registry-settings.ts";
import { repoHandlers } from "./repos.ts";
import { sboms } from "./sboms.ts";
import { syncStatusHandlers } from "./sync-statuses.ts";
import { tagSummaryHandlers } from "./tag-summaries.ts";
import { tagHandlers } from "./tags.ts";

export function registryV1(collaborators: ReposCollaborators & ChartCollaborators) {
  return implement(Registry, {
    ...repoHandlers(collaborators),
    ...tagHandlers(collaborators),
    ...tagSummaryHandlers(collaborators),
    ...eolTagHandlers(collaborators),
    ...syncStatusHandlers(collaborators),
    ...deploymentHandlers,
    ...registrySettingsHandlers,
    ...imageContents(collaborators),
    ...sboms(collaborators),
    ...buildReports,
    ...charts(collaborators),
    ...manifestMetadata,
    ...packageVersions,
  });
}
