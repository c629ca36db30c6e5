/** Claims queues on both stores. Nothing is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, capacityOf, deliveries, ORG, subscribe } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { createLog } from "../../lib/log.ts";
import { createOutcomeLog } from "./outcome-log.ts";
import { publish } from "./publish.ts";
import { createQueues } from "./queues.ts";
import { HEALTHY } from "./retry.ts";

const log = createLog("silent");

describeOnStores("claims of queues", (open) => {
  test("deliveries are due in the order of their events when the clock goes back a little", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    for (const ms of [0, -3000, -3_600_000]) {
      clock.advance(ms);
      await append(store);
      await publish(store, clock, "dev.holt");
    }
    const [first, second, third] = (await deliveries(store)).map((row) => row.next_attempt_time ?? "");
    assert.equal(second, first);
    assert.equal(third, clock.now().toISOString(), "a clock that was an hour ahead stops nothing");
  });

  test("a queue is claimed by one server until its lease ends or is released", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const [a, b] = [createQueues(store, clock), createQueues(store, clock)];
    assert.deepEqual(await a.look(), { isDue: false, isBehind: false, next: null });
    await append(store);
    await publish(store, clock, "dev.holt");
    assert.deepEqual(await a.look(), { isDue: true, isBehind: false, next: null });
    assert.deepEqual(await a.claim(capacityOf(0, 10)), []);
    assert.deepEqual(await a.claim(capacityOf(10, 10)), [{ uid: "org", health: HEALTHY }]);
    assert.deepEqual(await b.claim(capacityOf(10, 10)), []);
    clock.advance(8000);
    assert.deepEqual([...(await a.lease.renew(["org", "more"]))], ["org"]);
    clock.advance(8000);
    assert.deepEqual(await b.claim(capacityOf(10, 10)), []);
    clock.advance(3000);
    assert.equal((await b.claim(capacityOf(10, 10))).length, 1);
    assert.equal((await a.lease.renew(["org"])).size, 0);
    await b.lease.releaseAll();
    assert.equal((await a.claim(capacityOf(10, 10))).length, 1);
    await b.lease.releaseLeftBehind();
    const isAlone = store.dialect.notify === undefined;
    assert.equal(
      (await b.claim(capacityOf(10, 10))).length,
      isAlone ? 1 : 0,
      "a server that was killed and is started again, without other servers",
    );
  });

  test("an organization whose queues have waited longest leaves slots for other organizations", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    const others = "b".repeat(40);
    for (let i = 0; i < 40; i++) await subscribe(store, ORG, `${ORG}/${i}`);
    await append(store);
    await publish(store, clock, "dev.holt");
    clock.advance(1);
    for (let i = 0; i < 3; i++) await subscribe(store, others, `${others}/${i}`);
    await append(store, { group: others });
    await publish(store, clock, "dev.holt");
    const capacity = capacityOf(16, 0);
    const claim = async () =>
      (await queues.claim(capacity, { most: 8, share: { queues: 8, hasUnlimited: true } })).map(({ uid }) => uid.slice(0, 1)).join("");
    assert.equal(await claim(), "aaaaaaaa");
    assert.equal(await claim(), "bbb");
    assert.equal(await claim(), "", "an organization that has as many slots as are free gets no more");
    assert.equal(capacity.healthy.free(), 5);
    for (let i = 0; i < 8; i++) capacity.healthy.giveBack(ORG);
    assert.equal(await claim(), "aaaaaaa");
  });

  test("a claim finds failing queues only if the share says that there are queues without a limit", async () => {
    await using store = await open();
    const clock = createManualClock();
    const queues = createQueues(store, clock);
    await subscribe(store, ORG, "failing");
    await subscribe(store, ORG, "healthy");
    await append(store);
    await publish(store, clock, "dev.holt");
    await store.transaction((db) =>
      db.updateTable("subscription_queue").set({ failures: 1 }).where("subscription_uid", "=", "failing").execute(),
    );
    const claim = async (hasUnlimited: boolean) =>
      (await queues.claim(capacityOf(2, 2), { most: 8, share: { queues: 8, hasUnlimited } })).map(({ uid }) => uid);
    assert.deepEqual(await claim(false), ["healthy"]);
    assert.deepEqual(await claim(true), ["failing"]);
  });

  test("a server sees that another one is busy with a healthy queue, and not its own or failing ones", async () => {
    await using store = await open();
    const clock = createManualClock();
    const [busy, idle] = [createQueues(store, clock), createQueues(store, clock)];
    const outcomes = createOutcomeLog({ store, clock, log, lease: busy.lease });
    await subscribe(store, ORG, "org");
    await append(store);
    await publish(store, clock, "dev.holt");
    await busy.claim(capacityOf(2, 2));
    assert.equal((await idle.look()).isBehind, false, "the run has just begun");
    clock.advance(1000);
    assert.equal((await idle.look()).isBehind, true);
    assert.equal((await busy.look()).isBehind, false);
    await outcomes.release({ uid: "org", health: { ...HEALTHY, failures: 1 }, recoveredSince: null, notBefore: null });
    await busy.claim(capacityOf(2, 2));
    clock.advance(1000);
    assert.equal((await idle.look()).isBehind, false);
  });
});
