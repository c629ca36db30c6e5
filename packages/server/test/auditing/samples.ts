/** What the conformance suites need to know of the audit log. */
import { AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import type { OperationSample, ResourceSample } from "../harness/samples.ts";

export const resourceSamples: readonly ResourceSample[] = [];

/** Without a parent, all of them are for staff of the installation. */
export const operationSamples: readonly OperationSample[] = [
  { method: AuditService.method.listAuditEntries, answer: Code.PERMISSION_DENIED },
  { method: AuditService.method.exportAuditEntries, answer: Code.PERMISSION_DENIED },
  { method: AuditService.method.verifyAuditChain, answer: Code.PERMISSION_DENIED },
];
