import assert from "node:assert/strict";
import { it, test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { createFixture } from "../../../test/harness/exchange-fixture.ts";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import { createReadHandle } from "../../db/handle.ts";
import type { Store } from "../../db/store.ts";
import { createLog } from "../../lib/log.ts";
import { createSigningKeys } from "./signing-keys.ts";

const HOUR = 3_600_000;

test("the first start creates a signing key, and the next start uses it", async () => {
  await using world = await createFixture();
  const again = await createSigningKeys(world);
  assert.equal((await again.current()).kid, (await world.keys.current()).kid);
  const { keys } = await again.jwks();
  assert.deepEqual(
    keys.map(({ kty, alg, use, kid }) => ({ kty, alg, use, kid })),
    [{ kty: "RSA", alg: "RS256", use: "sig", kid: (await again.current()).kid }],
  );
  for (const member of ["d", "p", "q", "dp", "dq", "qi"]) assert.ok(!(member in (keys[0] ?? {})), member);
});

test("a retired signing key signs nothing and stays published for 24 hours", async () => {
  await using world = await createFixture();
  const old = await world.keys.current();
  const generation = world.keys.generation();
  world.clock.advance(1000);
  const fresh = await world.keys.rotate();
  assert.notEqual(fresh.kid, old.kid);
  assert.notEqual(world.keys.generation(), generation);
  assert.equal((await world.keys.current()).kid, fresh.kid);
  world.clock.advance(23 * HOUR);
  assert.equal((await world.keys.jwks()).keys.length, 2);
  assert.equal((await world.keys.byKid(old.kid))?.kid, old.kid);
  world.clock.advance(2 * HOUR);
  assert.deepEqual(
    (await world.keys.jwks()).keys.map((key) => key.kid),
    [fresh.kid],
  );
  assert.equal(await world.keys.byKid(old.kid), undefined);
  await world.keys.rotate();
  const rows = await world.store.reader.selectFrom("signing_key").select("kid").orderBy("kid").execute();
  assert.ok(!rows.some((row) => row.kid === old.kid));
});

test("a signing key rotates at its age, once for all servers, and tokens of the old key stay valid meanwhile", async () => {
  await using world = await createFixture();
  const servers = [world.keys, await createSigningKeys(world), await createSigningKeys(world)];
  const old = await world.keys.current();
  const age = 720 * HOUR;
  assert.ok((await world.keys.rotateIfOlder(age)) > age - HOUR);
  world.clock.advance(age - HOUR);
  const left = await world.keys.rotateIfOlder(age);
  assert.ok(left > 0 && left <= HOUR, `${left}`);
  assert.equal((await world.keys.current()).kid, old.kid);
  world.clock.advance(HOUR);
  const waits = await Promise.all(servers.map((keys) => keys.rotateIfOlder(age)));
  assert.ok(waits.every((wait) => wait > age - HOUR));
  const fresh = await Promise.all(servers.map((keys) => keys.current()));
  assert.equal(new Set(fresh.map(({ kid }) => kid)).size, 1);
  assert.notEqual(fresh[0]?.kid, old.kid);
  assert.equal((await world.keys.jwks()).keys.length, 2);
  assert.equal((await world.keys.byKid(old.kid))?.kid, old.kid);
});

test("another server's new signing key is noticed at once by its key ID, and otherwise within 30 seconds", async () => {
  await using world = await createFixture();
  const other = await createSigningKeys(world);
  world.clock.advance(1000);
  const first = await other.rotate();
  assert.equal((await world.keys.byKid(first.kid))?.kid, first.kid);
  world.clock.advance(1000);
  const second = await other.rotate();
  assert.notEqual((await world.keys.current()).kid, second.kid);
  world.clock.advance(30_000);
  assert.equal((await world.keys.current()).kid, second.kid);
});

test("servers that start at the same time on a new database agree on one signing key", async () => {
  const url = await createMigratedDatabase();
  const log = createLog("silent");
  const clock = { now: () => new Date() };
  const stores = await Promise.all(Array.from({ length: 4 }, () => openDatabase({ url, dataDir: "", log, readers: 2, writers: 2 })));
  let waiting = stores.length;
  const all = Promise.withResolvers<void>();
  /** No server writes before all have found that there is no key. */
  const transaction =
    (store: Store): Store["transaction"] =>
    async (work) => {
      if (--waiting <= 0) all.resolve();
      await all.promise;
      return store.transaction(work);
    };
  const together = (store: Store): Store => ({ reader: store.reader, transaction: transaction(store) }) as unknown as Store;
  const servers = await Promise.all(stores.map((store) => createSigningKeys({ store: together(store), clock, log })));
  const kids = await Promise.all(servers.map(async (keys) => (await keys.current()).kid));
  assert.equal(new Set(kids).size, 1);
  const rotated = await Promise.all(servers.map((keys) => keys.rotate()));
  await Promise.all(servers.map((keys) => keys.refresh()));
  assert.equal(new Set(await Promise.all(servers.map(async (keys) => (await keys.current()).kid))).size, 1);
  assert.equal((await servers[0]?.jwks())?.keys.length, 1 + rotated.length);
  for (const store of stores) await store[Symbol.asyncDispose]();
});

describeOnStores("a signing key of another server", (open) => {
  it("a key of another server is found by its ID while a refresh runs that began before the key was created", async () => {
    await using store = await open();
    const options = { clock: { now: () => new Date() }, log: createLog("silent") };
    const other = await createSigningKeys({ ...options, store });
    const { whileHeld, slow } = slowReader(store);
    const keys = await createSigningKeys({ ...options, store: slow });
    const created = await whileHeld(
      () => keys.refresh(),
      () => other.rotate(),
    );
    const found = keys.byKid(created.value.kid);
    created.release();
    assert.equal((await found)?.kid, created.value.kid);
  });
});

/** A store whose reader holds back the rows that it reads during `whileHeld`, as they were then. */
function slowReader(store: Store) {
  let gate: Promise<unknown> | undefined;
  let onRead: (() => void) | undefined;
  const reader = createReadHandle(store.dialect, async (query) => {
    const held = gate;
    const result = await store.reader.getExecutor().executeQuery(query);
    onRead?.();
    await held;
    return result;
  });
  async function whileHeld<T>(read: () => Promise<unknown>, change: () => Promise<T>) {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const hasRead = new Promise<void>((resolve) => (onRead = resolve));
    gate = promise;
    void read();
    gate = undefined;
    await hasRead;
    return { value: await change(), release };
  }
  return { whileHeld, slow: { reader, transaction: store.transaction.bind(store) } as unknown as Store };
}
