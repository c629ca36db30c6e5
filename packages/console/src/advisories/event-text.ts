/** Events of advisories in words. */
import {
  type AdvisoryEvent,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema as FalsePositiveReasonSchema,
} from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { enumText } from "../object/enum-text.ts";

export type EventKind = NonNullable<AdvisoryEvent["type"]["case"]>;

export const eventKinds: Readonly<Record<EventKind, string>> = {
  detection: "Detected",
  truePositiveDetermination: "Confirmed: affected",
  falsePositiveDetermination: "Not affected",
  fixed: "Fixed",
  patched: "Patched",
  pendingUpstreamFix: "Waiting for a fix of the upstream project",
  analysisNotPlanned: "No analysis is planned",
  fixNotPlanned: "No fix is planned",
};

export function eventTitle({ type }: AdvisoryEvent): string {
  const { case: kind, value } = type;
  if (kind === undefined) return "The component moved";
  if (kind === "fixed") return `Fixed in ${value.fixedVersion}`;
  if (kind === "patched") return `Patched in ${value.patchedVersions.join(", ")}`;
  return eventKinds[kind];
}

/** Further lines: the reason, how it was detected, the note. */
export function eventLines({ type, issue }: AdvisoryEvent): readonly string[] {
  const { case: kind, value } = type;
  const lines: string[] = [];
  if (kind === "falsePositiveDetermination") lines.push(enumText(FalsePositiveReasonSchema, value.type));
  if (kind === "detection" && value.type.case === "scanv1") {
    const { scanner, component, componentVersion, componentLocation } = value.type.value;
    lines.push([scanner, component, componentVersion, componentLocation].filter((part) => part !== "").join(" · "));
  }
  if (kind === "detection" && value.type.case === "nvdapi") lines.push(value.type.value.cpeFound);
  if (value !== undefined && "note" in value) lines.push(value.note);
  if (issue !== undefined) lines.push(issue);
  return lines.filter((line) => line !== "");
}
