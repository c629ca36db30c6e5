/** Checks the fields and the size of an advisory's event. Pure. The API and imports apply the same rules. */
import {
  type AdvisoryEvent,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema,
  AdvisoryEventSchema,
  ReviewStatusSchema,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { lineViolations, MAX_NOTE_LENGTH, requiredViolations } from "./text-rules.ts";

const MAX_FINDINGS_BYTES = 64 * 1024;
const MAX_PERSON_BYTES = 255;
const MAX_TEXT_LENGTH = 1024;
const MAX_VERSIONS = 100;

/** All violations. For the review state it only checks that the value exists; review.ts has the allowed transitions. */
export function eventViolations(event: AdvisoryEvent): FieldViolation[] {
  const { author, reviewer, issue, findings, status } = event;
  return [
    ...typeViolations(event),
    ...lineViolations("author", author, MAX_PERSON_BYTES),
    ...lineViolations("reviewer", reviewer, MAX_PERSON_BYTES),
    ...textViolations("issue", issue ?? ""),
    ...(findings.length > MAX_FINDINGS_BYTES
      ? [{ field: "findings", description: `must be at most ${MAX_FINDINGS_BYTES / 1024} KiB` }]
      : []),
    ...(ReviewStatusSchema.value[status] === undefined ? [{ field: "status", description: `${status} is not a ReviewStatus` }] : []),
  ];
}

function typeViolations({ type }: AdvisoryEvent): FieldViolation[] {
  const names = AdvisoryEventSchema.oneofs.find(({ localName }) => localName === "type")?.fields ?? [];
  const name = names.find(({ localName }) => localName === type.case)?.name ?? "";
  const within = (violations: FieldViolation[]) => violations.map(({ field, ...rest }) => ({ field: `${name}.${field}`, ...rest }));
  switch (type.case) {
    case undefined:
      return [{ field: "type", description: `set exactly one of ${names.map((field) => field.name).join(", ")}` }];
    case "fixed":
      return within([...requiredViolations("fixed_version", type.value.fixedVersion), ...payloadViolations(type.value)]);
    case "falsePositiveDetermination":
      return within([...reasonViolations(type.value.type), ...payloadViolations(type.value)]);
    case "patched":
      return within([...versionsViolations(type.value.patchedVersions), ...payloadViolations(type.value)]);
    case "componentLocationChanged":
      return within([...requiredViolations("new_location", type.value.newLocation), ...payloadViolations(type.value)]);
    case "detection":
      return within(payloadViolations(type.value.type.value ?? {}));
    default:
      return within(payloadViolations(type.value));
  }
}

function reasonViolations(reason: number): FieldViolation[] {
  const { values } = AdvisoryEvent_FalsePositiveDetermination_TypeSchema;
  const names = values.filter(({ number }) => number !== 0).map(({ name }) => name);
  const isKnown = values.some(({ number }) => number === reason && number !== 0);
  return isKnown ? [] : [{ field: "type", description: `say why the artifact is not affected: one of ${names.join(", ")}` }];
}

function versionsViolations(versions: readonly string[]): FieldViolation[] {
  if (versions.length === 0 || versions.length > MAX_VERSIONS)
    return [{ field: "patched_versions", description: `must be between 1 and ${MAX_VERSIONS} versions` }];
  return versions.flatMap((version, i) => [
    ...requiredViolations(`patched_versions[${i}]`, version),
    ...textViolations(`patched_versions[${i}]`, version),
  ]);
}

/** Checks the length of every string in the payload. */
function payloadViolations(payload: object): FieldViolation[] {
  return Object.entries(payload).flatMap(([localName, value]) =>
    typeof value === "string" && localName !== "$typeName"
      ? textViolations(
          localName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        )
      : [],
  );
}

function textViolations(field: string, text: string): FieldViolation[] {
  const max = field === "note" ? MAX_NOTE_LENGTH : MAX_TEXT_LENGTH;
  return text.length > max ? [{ field, description: `must have at most ${max} characters` }] : [];
}
