/** The lists of audit entries that are measured: every filter, pairs of filters, and filters that match nothing. */
import { ACTIONS, type AuditContents, RARE_ACTION_EVERY, requestIdOf } from "./entries.ts";

export interface MeasuredList {
  /** Queries of the same kind. */
  readonly queries: readonly string[];
  /** Whether no entry matches. */
  readonly isEmpty?: boolean;
}

const SAMPLES = 200;
const DAY_MS = 24 * 60 * 60 * 1000;
const UNKNOWN = "0123456789abcdef";

export function measuredLists({ organization, entries, actors, targets, groups }: AuditContents): Readonly<Record<string, MeasuredList>> {
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
  const days = [20, 15, 10].map((day) => `&since=${daysAgo(day)}&until=${daysAgo(day - 1)}`);
  const numbers = Array.from({ length: SAMPLES }, (_, i) => Math.floor((i * entries) / SAMPLES));
  const addresses = (step: number) => Array.from({ length: 250 / step }, (_, i) => `&remote_address=10.0.0.${i * step}`);
  const all = (queries: readonly string[], more = "") => ({ queries: queries.map((query) => `parent=${organization}${query}${more}`) });
  const below = (more = "", within = groups) => ({ queries: within.map((group) => `parent=${group}${more}`) });
  const none = (list: MeasuredList) => ({ ...list, isEmpty: true });
  const ofActors = actors.map((actor) => `&actor=${actor}`);
  return {
    "first page": all([""]),
    "oldest first": all(["&order_by=number"]),
    "of an actor": all(ofActors),
    "about a target": all(targets.map((target) => `&target=${target}`)),
    "below a group": below(),
    "of a frequent action": all([`&action=${ACTIONS[0]}`]),
    "of a rare action": all([`&action=${ACTIONS[1]}`]),
    "of a service": all(["&action=platform.registry.*"]),
    refusals: all(["&refused=true"]),
    "with a rare outcome": all(["&outcome=PERMISSION_DENIED"]),
    "with the usual outcome": all(["&outcome=OK"]),
    "from an address": all(addresses(1)),
    "of a request": all(numbers.map((number) => `&request_id=${requestIdOf(number)}`)),
    "of a day": all(days),
    "of a day, oldest first": all(days, "&order_by=number"),
    "of an actor about a target": all(ofActors.map((actor, i) => `${actor}&target=${targets[i % targets.length]}`)),
    "of an actor on a day": all(ofActors.map((actor, i) => `${actor}${days[i % days.length]}`)),
    "of a frequent action below a group": below(`&action=${ACTIONS[0]}`, groupsWith(groups, 0)),
    "of a service on a day": all(days, "&action=platform.registry.*"),
    // One entry in 100 is a refusal, and one in 250 is from the same address.
    "refusals from an address": all(addresses(50), "&refused=true"),
    "of an unknown actor": none(all([`&actor=${organization}/${UNKNOWN}`])),
    "about an unknown target": none(all([`&target=${organization}/${UNKNOWN}`])),
    "of an unknown request": none(all([`&request_id=${UNKNOWN}`])),
    "of another year": none(all(["&since=2001-01-01T00:00:00Z&until=2002-01-01T00:00:00Z"])),
    // One actor of twenty has entries of rare actions, and one of a hundred has entries below the same group.
    "of an actor with an action of others": none(all([`${ofActors[1]}&action=${ACTIONS[1]}`, `${ofActors[3]}&action=${ACTIONS[1]}`])),
    "of a frequent action below a group with others": none(below(`&action=${ACTIONS[0]}`, groupsWith(groups, 1))),
    "of an actor below a group of others": none({ queries: [`parent=${groups[0]}${ofActors[1]}`, `parent=${groups[1]}${ofActors[2]}`] }),
  };
}

/** The groups whose entries all have this action: one of twenty has the rare one. */
function groupsWith(groups: readonly string[], action: 0 | 1): string[] {
  return groups.filter((_, i) => (i % RARE_ACTION_EVERY === 0 ? 1 : 0) === action);
}
