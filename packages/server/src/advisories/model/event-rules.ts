/** What an event of an advisory must have, and how large it may be. Pure: the API and imports hold it to the same. */
import {
  type AdvisoryEvent,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema,
  AdvisoryEventSchema,
  ReviewStatusSchema,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import { lineViolations, MAX_NOTE, required } from "./text-rules.ts";

const MAX_FINDINGS = 64 * 1024;
const MAX_PERSON = 255;
const MAX_TEXT = 1024;
const MAX_VERSIONS = 100;

/** All that is wrong with it. Its state of review is not the question here, only whether there is such a one. */
export function eventViolations(event: AdvisoryEvent): FieldViolation[] {
  const { author, reviewer, issue, findings, status } = event;
  return [
    ...typeViolations(event),
    ...lineViolations("author", author, MAX_PERSON),
    ...lineViolations("reviewer", reviewer, MAX_PERSON),
    ...textViolations("issue", issue ?? ""),
    ...(findings.length > MAX_FINDINGS ? [{ field: "findings", description: `must have at most ${MAX_FINDINGS / 1024} KiB` }] : []),
    ...(ReviewStatusSchema.value[status] === undefined ? [{ field: "status", description: `status has no value ${status}` }] : []),
  ];
}

function typeViolations({ type }: AdvisoryEvent): FieldViolation[] {
  const names = AdvisoryEventSchema.oneofs.find(({ localName }) => localName === "type")?.fields ?? [];
  const name = names.find(({ localName }) => localName === type.case)?.name ?? "";
  const within = (violations: FieldViolation[]) => violations.map(({ field, ...rest }) => ({ field: `${name}.${field}`, ...rest }));
  switch (type.case) {
    case undefined:
      return [{ field: "type", description: `exactly one must be set of ${names.map((field) => field.name).join(", ")}` }];
    case "fixed":
      return within([...required("fixed_version", type.value.fixedVersion), ...payloadViolations(type.value)]);
    case "falsePositiveDetermination":
      return within([...reasonViolations(type.value.type), ...payloadViolations(type.value)]);
    case "patched":
      return within([...versionsViolations(type.value.patchedVersions), ...payloadViolations(type.value)]);
    case "componentLocationChanged":
      return within([...required("new_location", type.value.newLocation), ...payloadViolations(type.value)]);
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
    ...required(`patched_versions[${i}]`, version),
    ...textViolations(`patched_versions[${i}]`, version),
  ]);
}

/** Of the texts that the payload has. */
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
  const max = field === "note" ? MAX_NOTE : MAX_TEXT;
  return text.length > max ? [{ field, description: `must have at most ${max} characters` }] : [];
}
