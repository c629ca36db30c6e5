/**
 * Derives from an advisory everything that the database stores: columns, body, aliases and search terms. Pure. Each
 * write stores all of it.
 */
import { type Advisory, AdvisoryEventSchema, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { dateFromTimestamp } from "../../lib/clock.ts";
import { compileJsonEncoder } from "../../lib/proto-json.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import { parentOf } from "../../lib/uid.ts";
import { eventTypeOf } from "../model/event-types.ts";
import { encodePeople } from "../model/people.ts";
import { v1OnlyEventsOf, v2FromV1 } from "../model/versions.ts";
import type { AdvisoryTable } from "../tables.ts";
import { encodeResolutions } from "./resolutions.ts";

const encodeV2 = compileJsonEncoder(AdvisorySchema);
const encodeEvent = compileJsonEncoder(AdvisoryEventSchema);

/** In characters. A longer term is cut off, so it is found by its beginning only. */
const MAX_TERM_LENGTH = 200;
/** In characters. A longer key is replaced by its SHA-256, since index entries are limited in size. */
const MAX_ABOUT_LENGTH = 500;

/** @param advisory complete: with uid, times and all events in the order of (time, id), each with id and time */
export function advisoryRow(advisory: Advisory): AdvisoryTable {
  const { id: uid, createdAt, updatedAt, deletedAt, events } = advisory;
  if (createdAt === undefined || updatedAt === undefined) throw new Error(`${uid}: the advisory has no create time or update time`);
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
    authors: encodePeople(events.map((event) => event.author)),
    reviewers: encodePeople(events.map((event) => event.reviewer)),
    resolutions: encodeResolutions(events),
    other_events: encodeOtherEvents(advisory),
    body: encodeV2(v2FromV1(advisory)),
  };
}

function encodeOtherEvents(advisory: Advisory): string {
  const others = v1OnlyEventsOf(advisory);
  return others.length === 0 ? "" : `[${others.map(encodeEvent).join(",")}]`;
}

/** Everything that is stored of an advisory. */
export interface DerivedAdvisory {
  readonly row: AdvisoryTable;
  readonly aliases: readonly string[];
  readonly terms: readonly string[];
}

/** @param advisory as in `advisoryRow` */
export function deriveAdvisory(advisory: Advisory): DerivedAdvisory {
  return { row: advisoryRow(advisory), aliases: aliasesOf(advisory), terms: termsOf(advisory) };
}

/**
 * The identity of an advisory within its group: no two have the same. An import uses it to recognize an advisory that
 * it imported before.
 */
export function aboutOf(advisory: Advisory): string {
  const { advisoryId, artifactType, artifactName, artifactArchitecture, componentType, componentName, componentLocation } = advisory;
  const component = [componentType ?? "", componentName ?? "", componentLocation ?? ""];
  const text = JSON.stringify([advisoryId, artifactType, artifactName, artifactArchitecture, ...component]);
  return text.length <= MAX_ABOUT_LENGTH ? text : sha256Hex(text);
}

/** Without duplicates. Empty for a deleted advisory, since no list finds it. */
function aliasesOf({ aliases, deletedAt }: Advisory): readonly string[] {
  return deletedAt === undefined ? [...new Set(aliases)] : [];
}

/** The search terms in lower case, without duplicates. Empty for a deleted advisory. */
function termsOf({ artifactName, componentName, aliases, deletedAt }: Advisory): readonly string[] {
  if (deletedAt !== undefined) return [];
  const texts = [artifactName, componentName ?? "", ...aliases].filter((text) => text !== "");
  return [...new Set(texts.map((text) => [...text.toLowerCase()].slice(0, MAX_TERM_LENGTH).join("")))];
}

/** 0 if no event is approved. */
function latestApprovedType(events: Advisory["events"]): number {
  const latest = events.findLast((event) => event.status === ReviewStatus.APPROVED);
  return latest === undefined ? 0 : eventTypeOf(latest);
}

function bitsOf(numbers: readonly number[]): number {
  return numbers.reduce((bits, number) => bits | (1 << number), 0);
}
