/** Samples for the conformance suites: advisories and their mirrors. */
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { AdvisoryPreviewsService } from "@holt/api/gen/holt/v1/advisory_previews_pb.ts";
import { ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { VulnerabilitiesService } from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { SecurityAdvisory } from "@holt/api/gen/platform/advisory/v1/security_advisories_pb.ts";
import { SecurityAdvisoryService } from "@holt/api/gen/platform/advisory/v2/security_advisories_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { Vulnerabilities } from "@holt/api/gen/platform/registry/v1/vulnerabilities_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { advisoryMirrors } from "../../src/advisories/mirrors/mirror-resource.ts";
import { Code } from "../../src/lib/errors.ts";
import { entitleOwner } from "../harness/advisories/entitle-owner.ts";
import { defineSample, inGroup, type OperationSample, type ResourceSample } from "../harness/samples.ts";

export const resourceSamples: readonly ResourceSample[] = [
  defineSample(advisoryMirrors, AdvisoryMirrorsService, {
    title: "an advisory mirror",
    parent: inGroup,
    capabilityNoun: "advisories",
    prepareOrganization: entitleOwner,
    // A mirror creates advisories in the name of the caller.
    neededToUpdate: async () => [Capability.CAP_ADVISORIES_CREATE],
    derivedFields: { url: "status", kind: "status" },
    body: async (_world, _group, name) => ({
      name,
      // No server listens there, so a connection fails at once.
      url: "http://127.0.0.1:1/feed.zip?a=%C3%A9&b=<b>",
      kind: "IMPORT_KIND_ADVISORIES",
      interval: "3600s",
    }),
    change: async () => ({
      name: "renamed",
      url: "http://127.0.0.1:1/other.json",
      kind: "IMPORT_KIND_VULNERABILITIES",
      interval: "300.500s",
    }),
    smallChange: { interval: "7200s" },
  }),
];

export const operationSamples: readonly OperationSample[] = [
  // The advisory does not exist.
  { method: AdvisoryPreviewsService.method.previewAdvisory, answer: Code.NOT_FOUND },
  { method: ImportsService.method.createImport, answer: 0 },
  // The request names no address.
  { method: ImportsService.method.fetchImport, answer: Code.INVALID_ARGUMENT },
  { method: ImportsService.method.listImports, answer: 0 },
  { method: Advisories.method.listAdvisoryEvents, answer: 0 },
  // A place without images has an empty list.
  { method: VulnerabilitiesService.method.listVulnerabilities, answer: 0 },
  { method: VulnerabilitiesService.method.listVulnerabilityCounts, answer: 0 },
  // The request names no image.
  { method: Vulnerabilities.method.listVulnReports, answer: Code.INVALID_ARGUMENT },
  { method: Vulnerabilities.method.getRawVulnReport, answer: Code.INVALID_ARGUMENT },
  { method: Vulnerabilities.method.listVulnCountReports, answer: Code.INVALID_ARGUMENT },
  { method: Vulnerabilities.method.listCumulativeVulnCountReports, answer: Code.INVALID_ARGUMENT },
  // The request names no days.
  { method: SecurityAdvisory.method.listResolvedVulnsReports, answer: Code.INVALID_ARGUMENT },
  { method: SecurityAdvisoryService.method.listResolvedVulnsReports, answer: Code.INVALID_ARGUMENT },
];
