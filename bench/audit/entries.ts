/** Fills databases with audit entries and seals them into the organization's chain, as the server does. */
import { contentOf } from "../../packages/server/src/audit/audit-entry.ts";
import { seal } from "../../packages/server/src/auditing/chain/seal.ts";
import { indexBlocks, mergeSegments } from "../../packages/server/src/auditing/chain/segment-index.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { systemClock } from "../../packages/server/src/lib/clock.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import type { Row } from "../data/rows.ts";
import { type Filled, openDataset, type StoreName } from "../data/stores.ts";

export interface AuditContents {
  readonly organization: string;
  readonly entries: number;
  readonly actors: readonly string[];
  readonly targets: readonly string[];
  /** Groups that the targets are in. */
  readonly groups: readonly string[];
}

const ACTORS = 1000;
const GROUPS = 300;
/** One target has ten entries. */
const ENTRIES_PER_TARGET = 10;
const SAMPLES = 200;
const REFUSED_EVERY = 100;
const DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;
/** The first is by far the most frequent. */
export const ACTIONS = ["platform.iam.v2.GroupsService/CreateGroup", "platform.registry.v2.TagsService/CreateTag"];
export const RARE_ACTION_EVERY = 20;

export function openEntries(store: StoreName, entries: number): Promise<Filled<AuditContents>> {
  return openDataset(store, { key: `audit_${entries}`, sources: ["bench/audit/entries.ts"], fill: (target) => fill(target, entries) });
}

async function fill(target: Target, entries: number): Promise<AuditContents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const actors = Array.from({ length: ACTORS }, () => newUid(organization));
  const groups = Array.from({ length: GROUPS }, () => newUid(organization));
  const targets = Array.from({ length: Math.ceil(entries / ENTRIES_PER_TARGET) }, (_, i) => newUid(groups[i % GROUPS] ?? ""));
  const sink = await openSink(target);
  await insertAll(sink, "audit_entry", rows());
  await sink.finish();
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  while (await seal(store, systemClock));
  while (await indexBlocks(store));
  while (await mergeSegments(store));
  console.log(`  filled ${entries} audit entries in ${Math.round((performance.now() - started) / 1000)} s`);
  return { organization, entries, actors: actors.slice(0, SAMPLES), targets: targets.slice(0, SAMPLES), groups: groups.slice(0, SAMPLES) };

  function* rows(): Iterable<Row> {
    const begin = Date.now() - DAYS * DAY_MS;
    for (let i = 0; i < entries; i++) {
      const isRefused = i % REFUSED_EVERY === 0;
      const content = contentOf({
        now: new Date(begin + (i / entries) * DAYS * DAY_MS),
        action: ACTIONS[i % RARE_ACTION_EVERY === 0 ? 1 : 0] ?? "",
        actor: actors[(i * 7919) % ACTORS] ?? "",
        remoteAddress: `10.0.0.${i % 250}`,
        protocol: "rest",
        target: targets[(i * 104_729) % targets.length] ?? "",
        organization,
        outcome: isRefused ? "PERMISSION_DENIED" : "OK",
        requestId: requestIdOf(i),
      });
      yield { content };
    }
  }
}

export function requestIdOf(entry: number): string {
  return `request-${entry}`;
}
