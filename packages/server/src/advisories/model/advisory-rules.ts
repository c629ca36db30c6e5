/**
 * Checks the fields and the size of an advisory; event-rules.ts checks its events. Pure. The API and imports apply the
 * same rules.
 */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import type { AdvisoryTable } from "../tables.ts";
import { countPeople, MAX_PEOPLE } from "./people.ts";
import { lineViolations, requiredViolations } from "./text-rules.ts";

export const MAX_EVENTS = 500;
const MAX_ALIASES = 100;
const MAX_ALIAS_BYTES = 128;
/** In characters of JSON, which is close to bytes. Lists read hundreds of bodies at once. */
const MAX_BODY_LENGTH = 256 * 1024;

/** Largest size of each field in UTF-8 bytes, by proto field name. */
const maxBytes = {
  artifact_type: 64,
  artifact_name: 255,
  artifact_architecture: 64,
  component_name: 255,
  component_type: 64,
  component_location: 512,
  advisory_id: 128,
  legacyAdvisoryID: 128,
  author: 255,
} as const;

/** All violations except those of the events and of the total size. */
export function advisoryViolations(advisory: Advisory): FieldViolation[] {
  const texts: Readonly<Record<keyof typeof maxBytes, string>> = {
    artifact_type: advisory.artifactType,
    artifact_name: advisory.artifactName,
    artifact_architecture: advisory.artifactArchitecture,
    component_name: advisory.componentName ?? "",
    component_type: advisory.componentType ?? "",
    component_location: advisory.componentLocation ?? "",
    advisory_id: advisory.advisoryId,
    legacyAdvisoryID: advisory.legacyAdvisoryID ?? "",
    author: advisory.author,
  };
  return [
    ...requiredViolations("artifact_type", texts.artifact_type),
    ...requiredViolations("artifact_name", texts.artifact_name),
    ...Object.entries(maxBytes).flatMap(([field, max]) => lineViolations(field, texts[field as keyof typeof maxBytes], max)),
    ...aliasesViolations(advisory.aliases),
  ];
}

function aliasesViolations(aliases: readonly string[]): FieldViolation[] {
  if (aliases.length > MAX_ALIASES) return [{ field: "aliases", description: `must have at most ${MAX_ALIASES} aliases` }];
  return aliases.flatMap((alias, i) =>
    alias === ""
      ? [{ field: `aliases[${i}]`, description: "an alias must not be empty" }]
      : lineViolations(`aliases[${i}]`, alias, MAX_ALIAS_BYTES),
  );
}

/** @param row the advisory as it will be stored */
export function sizeViolations({ events }: Advisory, row: Pick<AdvisoryTable, "body" | "other_events">): FieldViolation[] {
  const size = row.body.length + row.other_events.length;
  const people = Math.max(countPeople(events.map(({ author }) => author)), countPeople(events.map(({ reviewer }) => reviewer)));
  return [
    ...(events.length > MAX_EVENTS ? [{ field: "events", description: `must have at most ${MAX_EVENTS} events` }] : []),
    ...(people > MAX_PEOPLE
      ? [{ field: "events", description: `must have at most ${MAX_PEOPLE} different authors and ${MAX_PEOPLE} different reviewers` }]
      : []),
    ...(size > MAX_BODY_LENGTH
      ? [
          {
            field: "",
            description: `an advisory with its events must be at most ${MAX_BODY_LENGTH / 1024} KiB of JSON; it has ${size} characters`,
          },
        ]
      : []),
  ];
}
