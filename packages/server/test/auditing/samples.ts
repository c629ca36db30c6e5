/** Facts about the audit log for the conformance suites. */
import { AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import type { OperationSample, ResourceSample } from "../harness/samples.ts";

export const resourceSamples: readonly ResourceSample[] = [];

/** Without a parent, they are for staff of the installation. A chain is that of an organization, so other groups are refused. */
export const operationSamples: readonly OperationSample[] = [
  { method: AuditService.method.listAuditEntries, checksScopeItself: true, answer: 0 },
  { method: AuditService.method.exportAuditEntries, checksScopeItself: true, answer: Code.INVALID_ARGUMENT },
  { method: AuditService.method.verifyAuditChain, checksScopeItself: true, answer: Code.INVALID_ARGUMENT },
];
