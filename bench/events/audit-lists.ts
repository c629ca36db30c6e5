/**
 * Measures lists of audit entries in an organization with very many, by each filter, with frequent and rare values. One client sends one
 * request at a time.
 */
import { contentOf } from "../../packages/server/src/audit/audit-entry.ts";
import { seal } from "../../packages/server/src/auditing/chain/seal.ts";
import { indexTargets } from "../../packages/server/src/auditing/chain/target-index.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { compare } from "../compare.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import type { Row } from "../data/rows.ts";
import { openDataset, type StoreName } from "../data/stores.ts";
import { type Line, latencyLine } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";

interface AuditContents {
  readonly organization: string;
  readonly folder: string;
  readonly actors: readonly string[];
  readonly targets: readonly string[];
  readonly times: readonly string[];
}

const LIMIT_MS = { sqlite: 15, postgres: 30 };
const ACTORS = 200;
const FOLDERS = 50;
const SAMPLES = 100;
const SPACING_MS = 1000;
const ACTIONS = ["CreateGroup", "UpdateGroup", "DeleteGroup"].map((method) => `platform.iam.v2.GroupsService/${method}`);
const RARE_ACTION = "platform.iam.v2.RolesService/DeleteRole";

/** One entry a second, until now. One of a hundred is a refusal, and one of ten thousand has a rare action. */
function* entryRows({ organization, actors, folders, start }: Plan, samples: { targets: string[]; times: string[] }): Iterable<Row> {
  for (let i = 0; i < scale.rows; i++) {
    const target = newUid(folders[i % FOLDERS] ?? organization);
    const now = new Date(start + i * SPACING_MS);
    if (i % Math.ceil(scale.rows / SAMPLES) === 0) {
      samples.targets.push(target);
      samples.times.push(now.toISOString());
    }
    const content = contentOf({
      ...{ now, organization, target },
      action: i % 10_000 === 5 ? RARE_ACTION : (ACTIONS[i % ACTIONS.length] ?? ""),
      actor: actors[(i * 7) % ACTORS] ?? "",
      remoteAddress: `10.0.${i % 40}.${i % 50}`,
      protocol: "rest",
      client: "holt/0.1.0",
      outcome: i % 100 === 3 ? "PERMISSION_DENIED" : "OK",
      requestId: `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`,
      request: JSON.stringify({ group: { uid: target, name: `group-${i}`, description: "By the benchmark" } }),
    });
    yield { content };
  }
}

interface Plan {
  readonly organization: string;
  readonly actors: readonly string[];
  readonly folders: readonly string[];
  readonly start: number;
}

async function fillAudit(target: Target): Promise<AuditContents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const many = (count: number) => Array.from({ length: count }, () => newUid(organization));
  const plan = { organization, actors: many(ACTORS), folders: many(FOLDERS), start: Date.now() - scale.rows * SPACING_MS };
  const samples = { targets: [] as string[], times: [] as string[] };
  const sink = await openSink(target);
  await insertAll(sink, "audit_entry", entryRows(plan, samples));
  await sink.finish();
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  while (await seal(store, systemClock));
  while (await indexTargets(store));
  console.log(`  filled ${scale.rows} audit entries in ${Math.round((performance.now() - started) / 1000)} s`);
  return { organization, folder: plan.folders[3] ?? "", actors: plan.actors, ...samples };
}

export async function auditLists(store: StoreName): Promise<Line[]> {
  const sources = ["bench/events/audit-lists.ts", "packages/server/src/auditing/chain/*.ts", "packages/server/src/audit/*.ts"];
  const filled = await openDataset(store, { key: `audit_${scale.rows}`, sources, fill: fillAudit });
  const holt = await serveFilled(filled);
  await using _server = holt.server;
  const { actors, targets, times, folder } = holt.contents;
  const queries: Readonly<Record<string, readonly string[]>> = {
    "newest first": [""],
    "oldest first": ["order_by=number"],
    "since and until, an hour": times.map((time) => `since=${time}&until=${new Date(Date.parse(time) + 3_600_000).toISOString()}`),
    actor: actors.map((actor) => `actor=${actor}`),
    "actor, none": [`actor=${newUid(holt.contents.organization)}`],
    "action, a third": [`action=${ACTIONS[0]}`],
    "action, rare": [`action=${RARE_ACTION}`],
    "action, prefix": ["action=platform.iam.v2.GroupsService/*"],
    target: targets.map((target) => `target=${target}`),
    "below a folder": [`parent=${folder}`],
    refused: ["refused=true"],
    "outcome OK": ["outcome=OK"],
    "outcome, none": ["outcome=UNAVAILABLE"],
    address: ["remote_address=10.0.7.7"],
    "actor and rare action": actors.map((actor) => `actor=${actor}&action=${RARE_ACTION}`),
    "actor, refused": actors.map((actor) => `actor=${actor}&refused=true`),
    "actor and time": times.map((time, i) => `actor=${actors[i % ACTORS]}&since=${time}`),
    "rare action and address": [`action=${RARE_ACTION}&remote_address=10.0.7.7`],
    "folder, action and refused": [`parent=${folder}&action=${ACTIONS[1]}&refused=true`],
    "request, around its time": times.map(
      (time, i) => `request_id=00000000-0000-4000-8000-${String(i * Math.ceil(scale.rows / SAMPLES)).padStart(12, "0")}&since=${time}`,
    ),
  };
  const lines: Line[] = [];
  for (const [name, filters] of Object.entries(queries)) lines.push(await latency(name, holt, filters));
  return lines;
}

async function latency(name: string, holt: Served<AuditContents>, filters: readonly string[]): Promise<Line> {
  const { server, request, contents } = holt;
  const pathOf = (query: string) =>
    `/holt/v1/audit/entries?${query.startsWith("parent=") ? "" : `parent=${contents.organization}&`}${query.replaceAll("*", "%2A")}`;
  const load = { port: server.port, connections: 1, requests: filters.map((query) => request("GET", pathOf(query))) };
  const [figures] = await compare("http1", [{ pid: server.pid, load }]);
  if (figures === undefined) throw new Error("figures are missing");
  return latencyLine(`Audit entries: ${name}`, holt.name, figures, LIMIT_MS[holt.name]);
}
