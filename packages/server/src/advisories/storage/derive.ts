/** What the database keeps of an advisory beside its body, all of it derived: columns, aliases, search terms, events. Pure: whoever writes an advisory writes all of this. */
import { type Advisory, AdvisoryEventSchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { parentOf } from "../../lib/uid.ts";
import { eventTypeOf } from "../model/event-types.ts";
import { peopleText } from "../model/people.ts";
import { othersOf, v2FromV1 } from "../model/versions.ts";
import type { AdvisoryTable } from "../tables.ts";
import { resolutionsText } from "./resolutions.ts";

const encodeV2 = compileJsonEncoder(AdvisorySchema);
const encodeEvent = compileJsonEncoder(AdvisoryEventSchema);

/** Longer terms are found by their beginning. */
const MAX_TERM = 200;
/** A longer text is kept as its SHA-256: an index takes no text of any length. */
const MAX_ABOUT = 500;

/** @param advisory whole: with its uid, its times and all its events, each with id and time, in the order of (time, id) */
export function advisoryRow(advisory: Advisory): AdvisoryTable {
  const { id: uid, createdAt, updatedAt, deletedAt, events } = advisory;
  if (createdAt === undefined || updatedAt === undefined) throw new Error(`${uid}: an advisory without its times`);
  return {
    uid,
    parent: parentOf(uid),
    name: "",
    create_time: dateFromTimestamp(createdAt).toISOString(),
    update_time: dateFromTimestamp(updatedAt).toISOString(),
    delete_time: deletedAt === undefined ? null : dateFromTimestamp(deletedAt).toISOString(),
    about: aboutOf(advisory),
    advisory_id: advisory.advisoryId,
    legacy_advisory_id: advisory.legacyAdvisoryID ?? null,
    artifact_name: advisory.artifactName,
    artifact_type: advisory.artifactType,
    artifact_architecture: advisory.artifactArchitecture,
    component_name: advisory.componentName ?? "",
    component_type: advisory.componentType ?? "",
    component_location: advisory.componentLocation ?? "",
    first_alias: advisory.aliases[0] ?? "",
    latest_type: latestApprovedType(events),
    event_types: bitsOf(events.map(eventTypeOf)),
    review_states: bitsOf(events.map((event) => event.status)),
    authors: peopleText(events.map((event) => event.author)),
    reviewers: peopleText(events.map((event) => event.reviewer)),
    resolutions: resolutionsText(events),
    other_events: othersText(advisory),
    body: encodeV2(v2FromV1(advisory)),
  };
}

function othersText(advisory: Advisory): string {
  const others = othersOf(advisory);
  return others.length === 0 ? "" : `[${others.map(encodeEvent).join(",")}]`;
}

/** All that is stored of an advisory. */
export interface DerivedAdvisory {
  readonly row: AdvisoryTable;
  readonly aliases: readonly string[];
  readonly terms: readonly string[];
}

/** @param advisory as for `advisoryRow` */
export function deriveAdvisory(advisory: Advisory): DerivedAdvisory {
  return { row: advisoryRow(advisory), aliases: aliasesOf(advisory), terms: termsOf(advisory) };
}

/** What no two advisories of a group have in common: by it an import knows again what it imported before. */
export function aboutOf(advisory: Advisory): string {
  const { advisoryId, artifactType, artifactName, artifactArchitecture, componentType, componentName, componentLocation } = advisory;
  const component = [componentType ?? "", componentName ?? "", componentLocation ?? ""];
  const text = JSON.stringify([advisoryId, artifactType, artifactName, artifactArchitecture, ...component]);
  return text.length <= MAX_ABOUT ? text : sha256Hex(text);
}

/** Each once; none of a deleted advisory, which no list finds. */
function aliasesOf({ aliases, deletedAt }: Advisory): readonly string[] {
  return deletedAt === undefined ? [...new Set(aliases)] : [];
}

/** What a search looks through, each once, in lower case; nothing of a deleted advisory. */
function termsOf({ artifactName, componentName, aliases, deletedAt }: Advisory): readonly string[] {
  if (deletedAt !== undefined) return [];
  const texts = [artifactName, componentName ?? "", ...aliases].filter((text) => text !== "");
  return [...new Set(texts.map((text) => [...text.toLowerCase()].slice(0, MAX_TERM).join("")))];
}

/** 0 where no event is approved. */
function latestApprovedType(events: Advisory["events"]): number {
  const latest = events.findLast((event) => event.status === ReviewStatus.APPROVED);
  return latest === undefined ? 0 : eventTypeOf(latest);
}

function bitsOf(numbers: readonly number[]): number {
  return numbers.reduce((bits, number) => bits | (1 << number), 0);
}
