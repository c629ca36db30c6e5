/** What the statuses of VEX become as events: the table that docs/advisories.md shows. Pure. */
import { AdvisoryEvent_FalsePositiveDetermination_Type as FalsePositive } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { Node } from "./fields.ts";
import { BadRecord, type EventRecord, type EventType } from "./record.ts";

export type VexStatus = "not_affected" | "affected" | "fixed" | "under_investigation";

export interface VexStatement {
  readonly status: VexStatus;
  /** One of VEX's, or the empty string. */
  readonly justification: string;
  readonly note: string;
  /** In which it is fixed, or the empty string. */
  readonly version: string;
}

/** As Wolfi's YAML spells them. */
export const falsePositiveTypes: ReadonlyMap<string, FalsePositive> = new Map([
  ["vulnerability-record-analysis-contested", FalsePositive.VULNERABILITY_RECORD_ANALYSIS_CONTESTED],
  ["component-vulnerability-mismatch", FalsePositive.COMPONENT_VULNERABILITY_MISMATCH],
  ["vulnerable-code-version-not-used", FalsePositive.VULNERABLE_CODE_VERSION_NOT_USED],
  ["vulnerable-code-not-included-in-package", FalsePositive.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ["vulnerable-code-not-in-execution-path", FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  ["vulnerable-code-cannot-be-controlled-by-adversary", FalsePositive.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY],
  ["inline-mitigations-exist", FalsePositive.INLINE_MITIGATIONS_EXIST],
]);

/** Without one, nothing is said but that it is not affected. */
const justifications: ReadonlyMap<string, FalsePositive> = new Map([
  ["", FalsePositive.UNSPECIFIED],
  ["component_not_present", FalsePositive.COMPONENT_VULNERABILITY_MISMATCH],
  ["vulnerable_code_not_present", FalsePositive.VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE],
  ["vulnerable_code_not_in_execute_path", FalsePositive.VULNERABLE_CODE_NOT_IN_EXECUTION_PATH],
  ["vulnerable_code_cannot_be_controlled_by_adversary", FalsePositive.VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY],
  ["inline_mitigations_already_exist", FalsePositive.INLINE_MITIGATIONS_EXIST],
]);

/** @throws BadRecord at the node, for a statement that does not say what its status needs */
export function vexEvents(statement: VexStatement, time: number, isOwnTime: boolean, node: Node): readonly EventRecord[] {
  return [{ time, isOwnTime, type: typeOf(statement, node) }];
}

function typeOf({ status, justification, note, version }: VexStatement, node: Node): EventType {
  switch (status) {
    case "not_affected": {
      const type = justifications.get(justification);
      if (type === undefined) throw new BadRecord(node.pointer, `there is no justification "${justification}"`);
      return { case: "falsePositiveDetermination", value: { type, note } };
    }
    case "affected":
      return { case: "truePositiveDetermination", value: { note } };
    case "fixed":
      if (version === "") throw new BadRecord(node.pointer, "it is fixed, and does not say in which version");
      return { case: "fixed", value: { fixedVersion: version, note } };
    case "under_investigation":
      return { case: "detection", value: { type: { case: "manual", value: {} } } };
  }
}
