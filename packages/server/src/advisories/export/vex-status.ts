/** What an advisory's latest approved event means to VEX: the table that docs/advisories.md shows. OpenVEX and CSAF share it. Pure. */
import type { EventKind, PublishedEvent } from "./published-advisory.ts";

export type VexStatus = "not_affected" | "affected" | "fixed" | "under_investigation";
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

/** Nobody is told that something is fixed without being told where. */
export function vexStatus({ kind, versions }: PublishedEvent): VexStatus {
  const status = statuses[kind];
  return status === "fixed" && versions.length === 0 ? "affected" : status;
}

/** A contested record is none of VEX's reasons: it is told in words. */
const justifications: Readonly<Record<string, string>> = {
  COMPONENT_VULNERABILITY_MISMATCH: "component_not_present",
  VULNERABLE_CODE_VERSION_NOT_USED: "vulnerable_code_not_present",
  VULNERABLE_CODE_NOT_INCLUDED_IN_PACKAGE: "vulnerable_code_not_present",
  VULNERABLE_CODE_NOT_IN_EXECUTION_PATH: "vulnerable_code_not_in_execute_path",
  VULNERABLE_CODE_CANNOT_BE_CONTROLLED_BY_ADVERSARY: "vulnerable_code_cannot_be_controlled_by_adversary",
  INLINE_MITIGATIONS_EXIST: "inline_mitigations_already_exist",
};

/** Of something that is not affected; CSAF calls them flags, and spells them alike. */
export function justificationOf({ reason }: PublishedEvent): string | undefined {
  return Object.hasOwn(justifications, reason) ? justifications[reason] : undefined;
}

/** Why something is not affected, in words; never empty. */
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

/** What to do about something that is affected. */
export function actionOf({ kind, note }: PublishedEvent): Action {
  const { category, text } = actions[kind] ?? { category: "none_available", text: "No fix is available yet." };
  return { category, text: note === "" ? text : note };
}
