/**
 * Maps an advisory's latest approved event to VEX terms for OpenVEX and CSAF: the table of docs/advisories.md. Pure.
 */
import type { VexStatus } from "../model/vex-status.ts";
import type { EventKind, PublishedEvent } from "./published-advisory.ts";

/** CSAF 2.0 §3.2.3.12.1. */
export type RemediationCategory = "no_fix_planned" | "none_available";

interface Action {
  readonly category: RemediationCategory;
  readonly text: string;
}

const statuses: Readonly<Record<EventKind, VexStatus>> = {
  detection: "under_investigation",
  truePositiveDetermination: "affected",
  falsePositiveDetermination: "not_affected",
  fixed: "fixed",
  patched: "fixed",
  analysisNotPlanned: "affected",
  fixNotPlanned: "affected",
  pendingUpstreamFix: "affected",
};

/** A fix without a version is published as "affected", since consumers could not act on it. */
export function vexStatus({ kind, versions }: PublishedEvent): VexStatus {
  const status = statuses[kind];
  return status === "fixed" && versions.length === 0 ? "affected" : status;
}

/** A contested vulnerability record has no counterpart in VEX; the impact statement says so. */
const justifications: Readonly<Record<string, string>> = {
  COMPONENT_VULNERABILITY_MISMATCH: "component_not_present",
  VULNERABLE_CODE_VERSION_NOT_USED: "vulnerable_code_not_present",
  VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE: "vulnerable_code_not_present",
  VULNERABLE_CODE_NOT_IN_EXECUTION_PATH: "vulnerable_code_not_in_execute_path",
  VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY: "vulnerable_code_cannot_be_controlled_by_adversary",
  INLINE_MITIGATIONS_EXIST: "inline_mitigations_already_exist",
};

/** The OpenVEX justification, which is also the CSAF flag. */
export function justificationOf({ reason }: PublishedEvent): string | undefined {
  return Object.hasOwn(justifications, reason) ? justifications[reason] : undefined;
}

/** A sentence that says why the product is not affected; never empty. */
export function impactOf({ note, reason }: PublishedEvent): string {
  if (note !== "") return note;
  return reason === "VULNERABILITY_RECORD_ANALYSIS_CONTESTED"
    ? "The analysis that the vulnerability's record rests on is contested."
    : "The vulnerability was found not to apply.";
}

const actions: Readonly<Partial<Record<EventKind, Action>>> = {
  analysisNotPlanned: { category: "no_fix_planned", text: "No analysis is planned." },
  fixNotPlanned: { category: "no_fix_planned", text: "No fix is planned." },
  pendingUpstreamFix: { category: "none_available", text: "A fix has to come from the component's own project." },
};

/** The recommended action for users of an affected product. */
export function actionOf({ kind, note }: PublishedEvent): Action {
  const { category, text } = actions[kind] ?? { category: "none_available", text: "No fix is available yet." };
  return { category, text: note === "" ? text : note };
}
