/** Version 1 of the service: maps requests and answers of version 2 to other names. */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import * as v1 from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import * as v2 from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import type { JsonText } from "../../../api/call/call.ts";
import { implement, read, type ServiceImplementation } from "../../../api/call/implement.ts";
import { compileRecast } from "./same-on-the-wire.ts";
import type { SecurityAdvisories } from "./security-advisories.ts";

export function securityAdvisoriesV1(advisories: SecurityAdvisories): ServiceImplementation {
  const documents = compileReply(v2.ListDocumentsResponseSchema, v1.DocumentListSchema);
  const metadata = compileReply(v2.ListVulnerabilityMetadataResponseSchema, v1.VulnerabilityMetadataListSchema);
  const reports = compileReply(v2.ListResolvedVulnsReportsResponseSchema, v1.ResolvedVulnsReportListSchema);
  const reportsRequest = compileRecast(v1.ResolvedVulnsReportFilterSchema, v2.ListResolvedVulnsReportsRequestSchema);
  // Lists of version 1 are empty for what does not exist.
  const options = { fields: { start: "from", end: "to" }, onMissing: () => {} };
  return implement(v1.SecurityAdvisory, {
    listDocuments: read(async (request, call) => documents(await advisories.listDocuments(request, call))),
    listVulnerabilityMetadata: read(async (request, call) => metadata(await advisories.listVulnerabilityMetadata(request, call))),
    listResolvedVulnsReports: read(async (request, call) =>
      reports(await advisories.listResolvedVulnsReports(reportsRequest(request), options, call)),
    ),
  });
}

function compileReply<From extends DescMessage, To extends DescMessage>(from: From, to: To): (reply: JsonText<From>) => MessageShape<To> {
  const recast = compileRecast(from, to);
  return (reply) => recast(reply.message());
}
