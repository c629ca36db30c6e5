/** What an advisory must have, and how large it may be; its events have rules of their own. Pure: the API and imports hold it to the same. */
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { FieldViolation } from "../../lib/errors.ts";
import type { AdvisoryTable } from "../tables.ts";
import { countPeople, MAX_PEOPLE } from "./people.ts";
import { lineViolations, required } from "./text-rules.ts";

export const MAX_EVENTS = 500;
const MAX_ALIASES = 100;
const MAX_ALIAS = 128;
/** Lists read bodies by the hundred. In characters, which is about bytes. */
const MAX_BODY = 256 * 1024;

/** In bytes, by proto name. */
const maxima = {
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

/** All that is wrong with it, events and size left out. */
export function advisoryViolations(advisory: Advisory): FieldViolation[] {
  const texts: Readonly<Record<keyof typeof maxima, string>> = {
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
    ...required("artifact_type", texts.artifact_type),
    ...required("artifact_name", texts.artifact_name),
    ...Object.entries(maxima).flatMap(([field, max]) => lineViolations(field, texts[field as keyof typeof maxima], max)),
    ...aliasesViolations(advisory.aliases),
  ];
}

function aliasesViolations(aliases: readonly string[]): FieldViolation[] {
  if (aliases.length > MAX_ALIASES) return [{ field: "aliases", description: `an advisory has at most ${MAX_ALIASES} aliases` }];
  return aliases.flatMap((alias, i) =>
    alias === ""
      ? [{ field: `aliases[${i}]`, description: "an alias must not be empty" }]
      : lineViolations(`aliases[${i}]`, alias, MAX_ALIAS),
  );
}

/** @param row the advisory as it would be stored */
export function sizeViolations({ events }: Advisory, row: Pick<AdvisoryTable, "body" | "other_events">): FieldViolation[] {
  const size = row.body.length + row.other_events.length;
  const people = Math.max(countPeople(events.map(({ author }) => author)), countPeople(events.map(({ reviewer }) => reviewer)));
  return [
    ...(events.length > MAX_EVENTS ? [{ field: "events", description: `an advisory has at most ${MAX_EVENTS} events` }] : []),
    ...(people > MAX_PEOPLE
      ? [{ field: "events", description: `the events have at most ${MAX_PEOPLE} authors and as many reviewers` }]
      : []),
    ...(size > MAX_BODY
      ? [
          {
            field: "",
            description: `an advisory with its events must be smaller than ${MAX_BODY / 1024} KiB as JSON; this one has ${size} characters`,
          },
        ]
      : []),
  ];
}
