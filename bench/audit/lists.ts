/** Measures pages of a long audit log by every filter. One client sends one request at a time. */
import type { StoreName } from "../data/stores.ts";
import { latency } from "../libraries/latency.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { serveFilled } from "../servers.ts";
import { ACTIONS, openEntries, requestIdOf } from "./entries.ts";

const LIMIT_MS = { sqlite: 15, postgres: 30 };
const SAMPLES = 200;
const DAY_MS = 24 * 60 * 60 * 1000;

export async function auditLists(store: StoreName): Promise<Line[]> {
  const holt = await serveFilled(await openEntries(store, scale.rows));
  await using _server = holt.server;
  const { organization, entries, actors, targets } = holt.contents;
  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();
  const numbers = Array.from({ length: SAMPLES }, (_, i) => Math.floor((i * entries) / SAMPLES));
  const filters: Readonly<Record<string, readonly string[]>> = {
    "first page": [""],
    "oldest first": ["&order_by=number"],
    "of an actor": actors.map((actor) => `&actor=${actor}`),
    "about a target": targets.map((target) => `&target=${target}`),
    "of an action, broad": [`&action=${ACTIONS[0]}`],
    "of an action, rare": [`&action=${ACTIONS[1]}`],
    "of a service": ["&action=platform.oidc.*"],
    refusals: ["&refused=true"],
    "from an address": numbers.map((number) => `&remote_address=10.0.0.${number % 250}`),
    "of a request": numbers.map((number) => `&request_id=${requestIdOf(number)}`),
    "of a day": [20, 15, 10].map((days) => `&since=${daysAgo(days)}&until=${daysAgo(days - 1)}`),
    "of an actor about a target": actors.map((actor, i) => `&actor=${actor}&target=${targets[i % targets.length]}`),
  };
  const lines: Line[] = [];
  for (const [filter, queries] of Object.entries(filters)) {
    const requests = queries.map((query) => holt.request("GET", `/holt/v1/audit/entries?parent=${organization}${query}`));
    lines.push(await latency(`50 of ${entries} audit entries, ${filter}`, holt, requests, LIMIT_MS[store]));
  }
  return lines;
}
