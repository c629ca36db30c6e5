/** Advisories: writing and reviewing, imports, mirrors, published documents, feeds and reports. */
import type { Platform, Served } from "../api/domain.ts";
import type { Iam } from "../iam/iam.ts";
import { createOutboundClient } from "../outbound/client.ts";
import { advisoriesServiceV1 } from "./api/advisories-v1.ts";
import { advisoriesServiceV2 } from "./api/advisories-v2.ts";
import { advisoryMirrorsService } from "./api/advisory-mirrors.ts";
import { advisoryPreviewsService } from "./api/advisory-previews.ts";
import { failedImports } from "./api/failed-imports.ts";
import { vulnReportServiceV1 } from "./api/findings/vuln-report-v1.ts";
import { vulnerabilitiesService } from "./api/findings/vulnerabilities.ts";
import { vulnerabilitiesServiceV1 } from "./api/findings/vulnerabilities-v1.ts";
import { importsService } from "./api/imports.ts";
import { securityAdvisoryServices } from "./api/published/security-advisories.ts";
import { createPublication, type PublicOrganizations } from "./documents/publication.ts";
import { createFeeds } from "./feeds/feeds.ts";
import { FEEDS_PATH } from "./feeds/http/feed-path.ts";
import { createFeedsHandler } from "./feeds/http/feeds-handler.ts";
import { startMatching } from "./findings/matching-worker.ts";
import { startPruningFindings } from "./findings/prune.ts";
import { startRemoteImports } from "./import/remote/remote-imports.ts";

export interface AdvisorySettings {
  readonly dataDir: string;
  readonly outboundAllowCidrs: readonly string[];
  readonly importMaxBytes: number;
  readonly mirrorTimeoutMs: number;
  readonly publicAdvisories: PublicOrganizations;
}

export function startAdvisories(platform: Platform, { grants, authenticator }: Iam, settings: AdvisorySettings): Served {
  const { store, clock, log, profile, frame, baseUrl, bootstrapOwner } = platform;
  const { dataDir, outboundAllowCidrs: allowCidrs, importMaxBytes: maxBytes, mirrorTimeoutMs: timeoutMs } = settings;
  const publication = createPublication({ organizations: settings.publicAdvisories });
  // A client of its own: mirrors wait for no requests but their own.
  const client = platform.own(createOutboundClient({ allowCidrs, maxBodyBytes: maxBytes, tracer: platform.tracer }));
  const files = platform.blobs.staged;
  const imports = platform.own(startRemoteImports({ store, grants, clock, log, bootstrapOwner, client, files, maxBytes, timeoutMs }));
  platform.own(startPruningFindings({ store, clock, log }));
  platform.own(startMatching({ store, clock, log, publication, names: platform.names }));
  const feeds = platform.own(createFeeds({ ...platform, dataDir }));
  const { transferIdleMs } = platform.limits;
  const collaborators = { ...platform, grants, publication, remoteImports: imports, outboundAllowCidrs: allowCidrs };
  return {
    services: [
      advisoriesServiceV1(collaborators),
      advisoriesServiceV2(collaborators),
      ...securityAdvisoryServices(collaborators),
      importsService(collaborators),
      advisoryMirrorsService(collaborators),
      advisoryPreviewsService(platform),
      vulnerabilitiesService(collaborators),
      vulnerabilitiesServiceV1(collaborators),
      vulnReportServiceV1,
    ],
    attention: [failedImports],
    mounts: [
      {
        paths: [`${FEEDS_PATH}*`],
        serve: createFeedsHandler({
          frame,
          feeds,
          blobs: platform.blobs,
          publication,
          authenticator,
          store,
          profile,
          baseUrl,
          transferIdleMs,
        }),
      },
    ],
  };
}
