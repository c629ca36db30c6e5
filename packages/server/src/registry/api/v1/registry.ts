/** Assembles the registry's service of version 1 from the handlers of its topics. */
import { Registry } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { implement } from "../../../api/call/implement.ts";
import { buildReports } from "./build-reports.ts";
import { type ChartCollaborators, charts } from "./charts.ts";
import { imageContents } from "./image-contents.ts";
import { manifestMetadata } from "./manifest-metadata.ts";
import { packageVersions } from "./package-versions.ts";
import { sboms } from "./sboms.ts";

export function registryV1(collaborators: ChartCollaborators) {
  return implement(Registry, {
    ...imageContents(collaborators),
    ...sboms(collaborators),
    ...buildReports,
    ...charts(collaborators),
    ...manifestMetadata,
    ...packageVersions,
  });
}
