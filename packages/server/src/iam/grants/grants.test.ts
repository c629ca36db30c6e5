import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, type Fixture } from "../../../test/harness/exchange-fixture.ts";
import { createReadHandle } from "../../db/handle.ts";
import type { Store } from "../../db/store.ts";
import { createGrants, type Session } from "./grants.ts";

/** Grants over the fixture's database. Counts reads, and can hold their results back. */
function createObserved(world: Fixture) {
  const executor = world.store.reader.getExecutor();
  const state = { reads: 0, isCurrent: true, gate: Promise.resolve() };
  const reader = createReadHandle(world.store.dialect, async (query) => {
    state.reads++;
    const { gate } = state;
    const result = await executor.executeQuery(query);
    await gate;
    return result;
  });
  const grants = createGrants({ store: { reader } as unknown as Store, current: () => state.isCurrent });
  return { state, grants };
}

async function setUp() {
  const world = await createFixture();
  const group = await world.addGroup();
  const identity = await world.addIdentity(group, { case: undefined });
  return { world, group, identity, ...createObserved(world), [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

test("rights are loaded once, and again after they change", async () => {
  await using s = await setUp();
  const first = await s.grants.load(s.identity);
  assert.deepEqual([first.exists, first.access.capabilitiesAt(s.group)], [true, 0n]);
  await s.grants.load(s.identity);
  assert.equal(s.state.reads, 1);
  await s.world.bind(s.identity, s.group, 5n);
  await s.world.bind(s.identity, s.group, 1n << 130n);
  s.grants.invalidate([s.identity]);
  assert.equal((await s.grants.load(s.identity)).access.capabilitiesAt(s.group), (1n << 130n) | 5n);
  assert.equal(s.state.reads, 2);
});

test("rights in memory are recalled without reading, until they change or may have changed", async () => {
  await using s = await setUp();
  const session = { uid: s.identity, scopes: undefined, capabilities: undefined } as Session;
  assert.equal(s.grants.recallSession(session), undefined);
  await s.world.bind(s.identity, s.group, 5n);
  await s.grants.load(s.identity);
  const { reads } = s.state;
  assert.equal(s.grants.recallSession(session)?.access.capabilitiesAt(s.group), 5n);
  assert.equal(s.grants.recallSession({ ...session, capabilities: 1n })?.access.capabilitiesAt(s.group), 1n);
  assert.equal(s.state.reads, reads);
  s.state.isCurrent = false;
  assert.equal(s.grants.recallSession(session), undefined);
  s.state.isCurrent = true;
  s.grants.invalidate([s.identity]);
  assert.equal(s.grants.recallSession(session), undefined);
});

test("rights of a pull token, of a sign-in and of another registration are never recalled", async () => {
  await using s = await setUp();
  await s.grants.load(s.identity);
  const session = { uid: s.identity } as Session;
  assert.notEqual(s.grants.recallSession(session), undefined);
  assert.equal(s.grants.recallSession({ ...session, pullTokenSecret: "secret" }), undefined);
  assert.equal(s.grants.recallSession({ ...session, loginSession: "session" }), undefined);
  assert.equal(s.grants.recallSession({ ...session, auth: {} as Session["auth"] }), undefined);
  assert.equal(s.grants.recallSession({ ...session, registered: "another registration" }), undefined);
});

test("a missing identity differs from one without rights", async () => {
  await using s = await setUp();
  await s.world.removeIdentity(s.identity);
  assert.equal((await s.grants.load(s.identity)).exists, false);
});

test("concurrent callers share one load, and a load overtaken by an invalidation is neither shared nor cached", async () => {
  await using s = await setUp();
  const open = Promise.withResolvers<void>();
  s.state.gate = open.promise;
  const early = Array.from({ length: 20 }, () => s.grants.load(s.identity));
  assert.equal(s.state.reads, 1);
  await s.world.bind(s.identity, s.group, 1n);
  s.grants.invalidate([s.identity]);
  const late = s.grants.load(s.identity);
  assert.equal(s.state.reads, 2);
  open.resolve();
  for (const standing of await Promise.all(early)) assert.equal(standing.access.capabilitiesAt(s.group), 0n);
  assert.equal((await late).access.capabilitiesAt(s.group), 1n);
  assert.equal((await s.grants.load(s.identity)).access.capabilitiesAt(s.group), 1n);
  assert.equal(s.state.reads, 2);
});

test("a slow load does not overwrite the newer load that replaced it", async () => {
  await using s = await setUp();
  const open = Promise.withResolvers<void>();
  s.state.gate = open.promise;
  const early = s.grants.load(s.identity);
  await s.world.bind(s.identity, s.group, 1n);
  s.grants.invalidate([s.identity]);
  s.state.gate = Promise.resolve();
  assert.equal((await s.grants.load(s.identity)).access.capabilitiesAt(s.group), 1n);
  open.resolve();
  await early;
  assert.equal((await s.grants.load(s.identity)).access.capabilitiesAt(s.group), 1n);
});

test("invalidating everything empties the cache", async () => {
  await using s = await setUp();
  const other = await s.world.addIdentity(s.group, { case: undefined });
  await Promise.all([s.grants.load(s.identity), s.grants.load(other)]);
  s.grants.invalidate("*");
  await Promise.all([s.grants.load(s.identity), s.grants.load(other)]);
  assert.equal(s.state.reads, 4);
});

test("while changes of other servers may be missed, the cache is neither used nor filled", async () => {
  await using s = await setUp();
  await s.grants.load(s.identity);
  s.state.isCurrent = false;
  await s.world.bind(s.identity, s.group, 1n);
  for (let i = 0; i < 3; i++) assert.equal((await s.grants.load(s.identity)).access.capabilitiesAt(s.group), 1n);
  assert.equal(s.state.reads, 4);
  s.state.isCurrent = true;
  await s.grants.load(s.identity);
  await s.grants.load(s.identity);
  assert.equal(s.state.reads, 5);
});

test("a load is not cached if changes of other servers may have been missed meanwhile", async () => {
  await using s = await setUp();
  const open = Promise.withResolvers<void>();
  s.state.gate = open.promise;
  const load = s.grants.load(s.identity);
  s.state.isCurrent = false;
  open.resolve();
  await load;
  s.state.isCurrent = true;
  await s.grants.load(s.identity);
  assert.equal(s.state.reads, 2);
});

test("a transaction sees its own changes of rights, and others see them with the commit", async () => {
  await using s = await setUp();
  const { grants, store } = s.world;
  await grants.load(s.identity);
  await store
    .transaction(async (db) => {
      await db.deleteFrom("identity").where("uid", "=", s.identity).execute();
      await grants.recordChange(db, [s.identity]);
      assert.equal((await grants.load(s.identity, db)).exists, false);
      assert.equal((await grants.load(s.identity)).exists, true);
      throw new Error("undone");
    })
    .catch(() => {});
  assert.equal((await grants.load(s.identity)).exists, true);
  await s.world.removeIdentity(s.identity);
  assert.equal((await grants.load(s.identity)).exists, false);
});

test("a failed load rejects for all its callers and is retried by the next", async () => {
  await using s = await setUp();
  let fails = true;
  const executor = s.world.store.reader.getExecutor();
  const reader = createReadHandle(s.world.store.dialect, async (query) => {
    if (fails) throw new Error("no database");
    return executor.executeQuery(query);
  });
  const grants = createGrants({ store: { reader } as unknown as Store });
  const results = await Promise.allSettled([grants.load(s.identity), grants.load(s.identity)]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  fails = false;
  assert.equal((await grants.load(s.identity)).exists, true);
});
