/** Leases on rows, on both stores. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../test/harness/describe-stores.ts";
import { createManualClock, type ManualClock } from "../../test/harness/manual-clock.ts";
import type { Store } from "../db/store.ts";
import { createLease, type Lease } from "./lease.ts";

async function insertRows(store: Store, ...names: string[]): Promise<void> {
  const rows = names.map((name) => ({ name, value: "" }));
  await store.transaction((db) => db.insertInto("server_state").values(rows).execute());
}

describeOnStores("a lease", (open) => {
  const leaseOf = (store: Store, clock: ManualClock) => createLease({ store, clock, table: "server_state", key: "name", durationMs: 1000 });
  const claim = async (store: Store, lease: Lease, ...keys: string[]) =>
    [...(await store.transaction((db) => lease.claim(db, keys)))].sort();

  test("a lease belongs to one server until it expires, and then until another server claims the row", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [one, other] = [leaseOf(store, clock), leaseOf(store, clock)];
    await insertRows(store, "a", "b");
    assert.deepEqual(await claim(store, one, "a"), ["a"]);
    assert.deepEqual(await claim(store, other, "a", "b", "c"), ["b"]);
    clock.advance(900);
    assert.deepEqual([...(await one.renew(["a", "b"]))], ["a"]);
    clock.advance(900);
    assert.deepEqual(await claim(store, other, "a"), []);
    clock.advance(200);
    assert.deepEqual([...(await one.heldAmong(store.reader, ["a", "b"]))], ["a"]);
    assert.deepEqual(await claim(store, other, "a"), ["a"]);
    assert.equal((await one.renew(["a"])).size, 0);
  });

  test("a lease of a server whose clock was hours ahead is free once the clock was corrected", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [one, other] = [leaseOf(store, clock), leaseOf(store, clock)];
    await insertRows(store, "a");
    clock.advance(2 * 3_600_000);
    await claim(store, one, "a");
    clock.advance(-2 * 3_600_000);
    const held = () => store.reader.selectFrom("server_state").select("name").where(other.isHeld()).execute();
    assert.deepEqual(await held(), []);
    assert.deepEqual(await claim(store, other, "a"), ["a"]);
    assert.equal((await one.renew(["a"])).size, 0);
    assert.deepEqual(await held(), [{ name: "a" }]);
  });

  test("a lease is checked in the transaction of the write", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [one, other] = [leaseOf(store, clock), leaseOf(store, clock)];
    await insertRows(store, "a");
    await claim(store, one, "a");
    const write = (lease: Lease, value: string) =>
      lease.hold("a", (db) => db.updateTable("server_state").set({ value }).where("name", "=", "a").execute());
    assert.deepEqual([await write(one, "one"), await write(other, "other")], [true, false]);
    const query = store.reader.selectFrom("server_state").select("value").where("name", "=", "a");
    assert.equal((await query.executeTakeFirstOrThrow()).value, "one");
  });

  test("a lease is released by its holder, and at the start of a server that has the database alone", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [one, other] = [leaseOf(store, clock), leaseOf(store, clock)];
    await insertRows(store, "a", "b");
    await claim(store, one, "a");
    await claim(store, other, "b");
    await one.releaseAll();
    assert.deepEqual(await claim(store, other, "a", "b"), ["a"]);
    await one.releaseLeftBehind();
    const isAlone = store.dialect.notify === undefined;
    assert.deepEqual(await claim(store, one, "a", "b"), isAlone ? ["a", "b"] : []);
    await one.releaseLeftBehind(["b"]);
    assert.deepEqual(await claim(store, other, "a", "b"), isAlone ? ["b"] : []);
  });
});
