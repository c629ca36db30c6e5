/** Converts VEX statuses to events, by the table in docs/advisories.md. Pure. */
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { VexStatus } from "../model/vex-status.ts";
import type { Node } from "./fields.ts";
import { BadRecord, type EventRecord, type EventType } from "./record.ts";

export interface VexStatement {
  readonly status: VexStatus;
  /** A justification of VEX, or empty. */
  readonly justification: string;
  readonly note: string;
  /** The version with the fix, or empty. */
  readonly version: string;
}

/** By their names in Wolfi's YAML. */
export const falsePositiveTypes: ReadonlyMap<string, FalsePositive> = new Map([
  ["vulnerability-record-analysis-contested", FalsePositive.VULNERABILITY_RECORD_ANALYSIS_CONTESTED],
  ["component-vulnerability-mismatch", FalsePositive.COMPONENT_VULNERABILITY_MISMATCH],
  ["vulnerable-code-version-not-used", FalsePositive.VULNERABLE_CODE_VERSION_NOT_USED],
  ["vulnerable-code-not-included-in-package", FalsePositive.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ["vulnerable-code-not-in-execution-path", FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  ["vulnerable-code-cannot-be-controlled-by-adversary", FalsePositive.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY],
  ["inline-mitigations-exist", FalsePositive.INLINE_MITIGATIONS_EXIST],
]);

/** A statement without a justification only says that the component does not have the vulnerability. Its note may say more. */
const justifications: ReadonlyMap<string, FalsePositive> = new Map([
  ["", FalsePositive.COMPONENT_VULNERABILITY_MISMATCH],
  ["component_not_present", FalsePositive.COMPONENT_VULNERABILITY_MISMATCH],
  ["vulnerable_code_not_present", FalsePositive.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ["vulnerable_code_not_in_execute_path", FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  ["vulnerable_code_cannot_be_controlled_by_adversary", FalsePositive.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY],
  ["inline_mitigations_already_exist", FalsePositive.INLINE_MITIGATIONS_EXIST],
]);

/** @throws BadRecord at the node, for a statement without the details that its status requires */
export function vexEvent(statement: VexStatement, when: Pick<EventRecord, "time" | "isOwnTime">, node: Node): EventRecord {
  return { ...when, type: typeOf(statement, node) };
}

function typeOf({ status, justification, note, version }: VexStatement, node: Node): EventType {
  switch (status) {
    case "not_affected": {
      const type = justifications.get(justification);
      if (type === undefined) throw new BadRecord(node.pointer, `unknown justification "${justification}"`);
      return { case: "falsePositiveDetermination", value: { type, note } };
    }
    case "affected":
      return { case: "truePositiveDetermination", value: { note } };
    case "fixed":
      if (version === "") throw new BadRecord(node.pointer, "the status fixed requires a version");
      return { case: "fixed", value: { fixedVersion: version, note } };
    case "under_investigation":
      return { case: "detection", value: { type: { case: "manual", value: {} } } };
  }
}
