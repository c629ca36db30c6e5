/**
 * The published view of advisories: documents and vulnerabilities for all callers, and resolved vulnerabilities of images for callers who
 * may read those.
 */
import {
  ListDocumentsResponseSchema,
  type ListResolvedVulnsReportsRequest,
  ListResolvedVulnsReportsResponseSchema,
  SecurityAdvisoryService,
} from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import { type Call, JsonText } from "../../../api/call/call.ts";
import { implement, read, type ServiceImplementation } from "../../../api/call/implement.ts";
import type { PageTokens } from "../../../api/resource/page-token.ts";
import { networkOf } from "../../../http/remote-network.ts";
import { invalidArgument } from "../../../lib/errors.ts";
import { createDocuments, type Documents } from "../../documents/documents.ts";
import type { Publication } from "../../documents/publication.ts";
import { parseDayRange, type RangeFields } from "../../reports/days.ts";
import { buildResolvedReports } from "../../reports/report.ts";
import { resolveImageRefs } from "./image-refs.ts";
import { securityAdvisoriesV1 } from "./security-advisories-v1.ts";
import { listVulnerabilityMetadata, type MetadataRequest } from "./vulnerability-metadata.ts";

const MAX_CVES = 1000;
/** Needed to read advisories that are not public. */
const READ = capabilitySet([Capability.CAP_ADVISORIES_LIST]);

type DocumentsReply = JsonText<typeof ListDocumentsResponseSchema>;
type ReportsReply = JsonText<typeof ListResolvedVulnsReportsResponseSchema>;

/** The answers of both versions of the API, in the form of version 2. */
export interface SecurityAdvisories {
  listDocuments(request: { readonly id: string; readonly cves: readonly string[] }, call: Call): Promise<DocumentsReply>;
  listVulnerabilityMetadata(request: MetadataRequest, call: Call): ReturnType<typeof listVulnerabilityMetadata>;
  listResolvedVulnsReports(
    request: Pick<ListResolvedVulnsReportsRequest, "imageRefs" | "startTime" | "endTime">,
    options: ReportOptions,
    call: Call,
  ): Promise<ReportsReply>;
}

export interface ReportOptions {
  /** Names of the range's fields in the request. */
  readonly fields: RangeFields;
  /** Is called with the name of a repo that does not exist; by default the request is NOT_FOUND. */
  readonly onMissing?: (repo: string) => void;
}

export interface SecurityAdvisoryCollaborators {
  readonly pageTokens: PageTokens;
  readonly publication: Publication;
  /** Host, with its port where it has one, by which references to images name this server. */
  readonly registryHost: string;
}

/** Both versions of the service. */
export function securityAdvisoryServices(collaborators: SecurityAdvisoryCollaborators): ServiceImplementation[] {
  const advisories = createSecurityAdvisories(collaborators, createDocuments(collaborators.publication));
  const fields = { start: "start_time", end: "end_time" };
  const v2 = implement(SecurityAdvisoryService, {
    listDocuments: read((request, call) => advisories.listDocuments(request, call)),
    listVulnerabilityMetadata: read((request, call) => advisories.listVulnerabilityMetadata(request, call)),
    listResolvedVulnsReports: read((request, call) => advisories.listResolvedVulnsReports(request, { fields }, call)),
  });
  return [v2, securityAdvisoriesV1(advisories)];
}

function createSecurityAdvisories(
  { pageTokens, publication, registryHost }: SecurityAdvisoryCollaborators,
  documents: Documents,
): SecurityAdvisories {
  return {
    async listDocuments({ id, cves }, { db, principal, metadata }) {
      const wanted = [...new Set(cves)].filter((cve) => cve !== "");
      if (wanted.length > MAX_CVES) throw invalidArgument("cves", `must be at most ${MAX_CVES} different ones: send several requests`);
      const caller = principal?.uid ?? networkOf(metadata.remoteAddress);
      return new JsonText(ListDocumentsResponseSchema, `{"documents":${await documents.list({ id, cves: wanted }, caller, db)}}`);
    },
    listVulnerabilityMetadata: (request, call) => listVulnerabilityMetadata(request, call, pageTokens),
    async listResolvedVulnsReports({ imageRefs, startTime, endTime }, { fields, onMissing }, call) {
      const range = parseDayRange(startTime, endTime, fields);
      const images = await resolveImageRefs(imageRefs, { registryHost, field: "image_refs", onMissing }, call);
      const text = await buildResolvedReports({ images, range, now: call.now, readable: call.access.scopes(READ) }, publication, call.db);
      return new JsonText(ListResolvedVulnsReportsResponseSchema, `{"resolvedVulnsReports":${text}}`);
    },
  };
}
