/** Lists of the audit log by random filters have the same entries as a comparison with each entry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appendAudit } from "../../src/audit/append.ts";
import type { AuditFacts, EntryContent } from "../../src/audit/audit-entry.ts";
import { type EntryFilter, findEntries } from "../../src/auditing/api/find-entries.ts";
import type { PageEnd } from "../../src/auditing/api/page-end.ts";
import type { ChainEntry } from "../../src/auditing/chain/block.ts";
import { readChainEntries } from "../../src/auditing/chain/chain-entries.ts";
import { indexBlocks, mergeSegments } from "../../src/auditing/chain/segment-index.ts";
import { BUCKETS } from "../../src/auditing/chain/segment-records.ts";
import type { ReadDb } from "../../src/db/store.ts";
import { isAtOrBelow, newUid } from "../../src/lib/uid.ts";
import { createRandom, type Random, roundsOf, seedOf } from "../harness/random.ts";
import { describeWithWorld, type World } from "../harness/world.ts";
import { sealAll } from "./audit-log.ts";

const ENTRIES = 600;
const FILTERS = 60;
const ACTIONS = [
  "platform.iam.v2.GroupsService/CreateGroup",
  "platform.iam.v2.GroupsService/UpdateGroup",
  "platform.registry.v2.TagsService/CreateTag",
  "holtd keys rotate",
];
const OUTCOMES = ["OK", "OK", "OK", "PERMISSION_DENIED", "UNAUTHENTICATED"];

interface Values {
  readonly actors: readonly string[];
  readonly groups: readonly string[];
  readonly targets: readonly string[];
  readonly addresses: readonly string[];
  readonly requests: readonly string[];
}

function valuesBelow(organization: string, random: Random): Values {
  const outer = Array.from({ length: 3 }, () => newUid(organization));
  const groups = [...outer, ...outer.map(newUid)];
  return {
    groups,
    actors: Array.from({ length: 5 }, () => newUid(organization)),
    targets: [organization, ...groups, ...Array.from({ length: 40 }, () => newUid(random.pick(groups)))],
    addresses: ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
    requests: Array.from({ length: 200 }, (_, i) => `request-${i}`),
  };
}

/** The first values are the most frequent. */
function skewed<T>(random: Random, values: readonly T[]): T {
  return values[Math.min(random.below(values.length), random.below(values.length))] as T;
}

function factsOf(random: Random, organization: string, values: Values, now: Date): AuditFacts {
  return {
    organization,
    action: skewed(random, ACTIONS),
    actor: random.oneIn(10) ? "" : skewed(random, values.actors),
    target: random.oneIn(10) ? "" : skewed(random, values.targets),
    outcome: random.pick(OUTCOMES),
    remoteAddress: skewed(random, values.addresses),
    requestId: random.oneIn(4) ? "" : random.pick(values.requests),
    // Transactions do not commit in the order of their times.
    now: new Date(now.getTime() - random.below(120_000)),
  };
}

/** Blocks of all sizes, in merged segments, in others, and after the last one; some are as an earlier version wrote them. */
async function fill(world: World, random: Random, values: Values): Promise<void> {
  const { store, clock } = world;
  const other = newUid("");
  for (let entries = 0; entries < ENTRIES; ) {
    const size = random.oneIn(2) ? 1 : random.below(120);
    await store.transaction(async (db) => {
      for (let i = 0; i < size; i++) await appendAudit(db, factsOf(random, random.oneIn(5) ? other : world.orgUid, values, clock.now()));
    });
    entries += size;
    clock.advance(60_000);
    await sealAll(world);
    if (random.oneIn(6)) await forgetColumns(world);
    if (random.oneIn(4) && entries < ENTRIES) {
      while (await indexBlocks(store, 15));
      while (await mergeSegments(store, 3));
    }
  }
}

async function forgetColumns({ store }: World): Promise<void> {
  await store.transaction(async (db) => {
    const last = await db.selectFrom("audit_block").select("id").orderBy("id", "desc").limit(1).executeTakeFirstOrThrow();
    await db.updateTable("audit_block").set({ times: null, requests: null }).where("id", "=", last.id).execute();
  });
}

function filterFrom(random: Random, organization: string, values: Values, times: readonly string[]): EntryFilter {
  const maybe = <T>(from: readonly T[], otherwise: T): T => (random.oneIn(4) ? random.pick(from) : otherwise);
  const since = maybe<string | undefined>(times, undefined);
  return {
    organization,
    below: maybe<string | undefined>([...values.groups, newUid(organization)], undefined),
    actor: maybe([...values.actors, newUid(organization)], ""),
    action: maybe([...ACTIONS, "platform.iam.*", "platform.iam.v2.GroupsService/*", "platform.*", "holtd *", "unknown*", "*"], ""),
    target: random.oneIn(6) ? random.pick(values.targets) : "",
    outcome: maybe(["OK", "PERMISSION_DENIED", "UNAUTHENTICATED", "NOT_FOUND"], ""),
    refused: random.oneIn(8),
    remoteAddress: maybe([...values.addresses, "10.9.9.9"], ""),
    requestId: random.oneIn(8) ? random.pick([...values.requests, "unknown"]) : "",
    since,
    until: maybe<string | undefined>(times, undefined),
  };
}

function isIn({ content = "" }: ChainEntry, filter: EntryFilter): boolean {
  const entry = JSON.parse(content) as EntryContent;
  const { action, below, since, until } = filter;
  const pairs = [
    [filter.actor, entry.actor],
    [filter.target, entry.target],
    [filter.outcome, entry.outcome],
    [filter.remoteAddress, entry.remote_address],
    [filter.requestId, entry.request_id],
  ];
  return (
    pairs.every(([wanted, value]) => wanted === "" || wanted === value) &&
    (action.endsWith("*") ? entry.action.startsWith(action.slice(0, -1)) : action === "" || action === entry.action) &&
    (!filter.refused || entry.outcome !== "OK") &&
    (below === undefined || isAtOrBelow(entry.target, below)) &&
    (since === undefined || entry.time >= since) &&
    (until === undefined || entry.time < until)
  );
}

async function listAll({ store }: World, filter: EntryFilter, isDescending: boolean, limit: number): Promise<number[]> {
  const numbers: number[] = [];
  const ends = new Map<string, number>();
  for (let after: PageEnd | undefined; ; ) {
    const { entries, next } = await findEntries(store.reader, filter, { isDescending, after, limit });
    assert.ok(entries.length <= limit);
    numbers.push(...entries.map(({ number }) => number));
    if (next === undefined) return numbers;
    for (const [kind, end] of Object.entries(next)) {
      const before = ends.get(kind);
      assert.ok(before === undefined || (isDescending ? end < before : end > before), "the next page begins after this one");
      ends.set(kind, end);
    }
    after = next;
  }
}

async function readWholeChain(db: ReadDb, organization: string): Promise<ChainEntry[]> {
  const all: ChainEntry[] = [];
  for (let hasMore = true; hasMore; ) {
    const page = await readChainEntries(db, organization, all.at(-1)?.number ?? 0, 200);
    all.push(...page.entries);
    hasMore = page.hasMore;
  }
  return all;
}

describeWithWorld("searching the audit log", (world) => {
  test("random filters find the entries that a comparison with each entry finds, in both orders and by pages", async () => {
    const random = createRandom(seedOf(1));
    const values = valuesBelow(world.orgUid, random);
    await fill(world, random, values);
    const merged = await world.store.reader.selectFrom("audit_segment").select("segment").where("bucket", ">=", BUCKETS).limit(1).execute();
    assert.equal(merged.length, 1, "no segments were merged");
    const entries = await readWholeChain(world.store.reader, world.orgUid);
    const times = entries.map(({ content = "" }) => (JSON.parse(content) as EntryContent).time);
    let found = 0;
    for (let i = 0; i < roundsOf(FILTERS); i++) {
      const filter = filterFrom(random, world.orgUid, values, times);
      const expected = entries.filter((entry) => isIn(entry, filter)).map(({ number }) => number);
      found += expected.length > 0 ? 1 : 0;
      const limit = random.pick([7, 50, 200]);
      const isDescending = random.oneIn(2);
      const listed = await listAll(world, filter, isDescending, limit);
      assert.deepEqual(listed, isDescending ? expected.toReversed() : expected, JSON.stringify({ filter, isDescending, limit }));
    }
    assert.ok(found > FILTERS / 4, "too few of the filters match anything");
  });
});
