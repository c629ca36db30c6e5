/**
 * The terms by which filters find entries: each is a number of 48 bits made from the chain, a property and its value. Two values may have
 * the same term, so a filter also compares the entries that it finds.
 */
import { hash } from "node:crypto";
import type { EntryHead } from "../../audit/audit-entry.ts";
import { ancestry, isUid } from "../../lib/uid.ts";

export type Property = "actor" | "action" | "action-prefix" | "below" | "address" | "outcome";

/** The value of `outcome` that all refusals share. */
export const REFUSED = "refused";

/** @param key of `keyOf` */
export function termOf(chain: string, key: string): number {
  return textTerm(`${chain}\n${key}`);
}

/** The term of a target. A uid is random: its end is as good as a hash. */
export function targetTerm(target: string): number {
  return isUid(target) ? Number.parseInt(target.slice(-12), 16) : textTerm(target);
}

/** The term of the id of a request; 0 for none. */
export function requestTerm(id: string): number {
  return id === "" ? 0 : textTerm(id);
}

/** The first six bytes of a hash. Parsing digits is faster than making a buffer. */
function textTerm(text: string): number {
  return Number.parseInt(hash("sha1", text).slice(0, 12), 16);
}

export function keyOf(property: Property, value: string): string {
  return `${property}\n${value}`;
}

/** The properties of an entry that filters know. */
export function keysOf({ actor, action, target, outcome, remote_address }: EntryHead): string[] {
  const keys: string[] = [];
  const add = (property: Property, value: string) => void (value !== "" && keys.push(keyOf(property, value)));
  add("actor", actor);
  add("action", action);
  add("address", remote_address);
  for (const prefix of prefixesOf(action)) add("action-prefix", prefix);
  // A filter for all of an organization needs no term.
  if (isUid(target)) for (const ancestor of ancestry(target).slice(1, -1)) add("below", ancestor);
  if (outcome !== "OK") {
    add("outcome", outcome);
    add("outcome", REFUSED);
  }
  return keys;
}

/** The prefixes that filters can use: `platform.iam.` and `platform.iam.v2.GroupsService/` for `platform.iam.v2.GroupsService/GetGroup`. */
export function prefixesOf(action: string): string[] {
  const [area] = /^[^./ ]+\.[^./ ]+\./.exec(action) ?? [];
  const [service] = /^[^/ ]+[/ ]/.exec(action) ?? [];
  return [area, service].filter((prefix) => prefix !== undefined);
}
