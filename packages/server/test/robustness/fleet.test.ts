/**
 * Three servers that share nothing but a PostgreSQL and a bucket, while they are killed, frozen and cut off. TEST_ROUNDS
 * repeats the faults with other servers.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createRandom, type Random, roundsOf, seedOf } from "../harness/random.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { type Fleet, startFleet } from "../harness/robustness/fleet.ts";
import { type Load, REPOSITORY, startLoad } from "../harness/robustness/fleet-load.ts";
import { giveTime, until } from "../harness/wait.ts";
import { accept, afterMs, startWebhookReceiver, type WebhookReceiver } from "../harness/webhook-receiver.ts";

const SEED = seedOf(60);
const ROUNDS = roundsOf(1);
/** Longer than the lease of a queue of deliveries, so that another server takes it over. */
const ABSENCE_MS = 11_000;
/** The healthy server would write at full speed in this time, which proves nothing more. */
const ABSENCE_PAUSE_MS = 100;

describe("three servers on one PostgreSQL and one bucket", () => {
  let fleet: Fleet;
  let sink: WebhookReceiver;
  before(async () => {
    fleet = await startFleet();
    sink = await startWebhookReceiver();
  });
  after(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await sink?.[Symbol.asyncDispose]();
  });

  test("no acknowledged write is lost or happens twice while servers are killed, frozen and cut off", async (t) => {
    t.diagnostic(`seed ${SEED}`);
    let concurrent = 0;
    sink.behave((response, received) => {
      concurrent = Math.max(concurrent, received.concurrent);
      afterMs(5, accept)(response, received);
    });
    await fleet.post(`/events/v2/subscriptions/${fleet.orgUid}`, { sink: `${sink.url}/all` });
    const [{ begin = 0 } = {}] = await fleet.query("select coalesce(max(position), 0) as begin from outbox");
    const load = startLoad(fleet);
    await load.progress(0, 1, 2);
    const random = createRandom(SEED);
    for (let round = 0; round < ROUNDS; round++) await disturb(fleet, load, random);

    const stored = async () => await fleet.query("select id, subject, type from outbox where audience = 'customer' order by position");
    await load.end(async () => (await stored()).length <= new Set(load.feed).size);
    t.diagnostic(`${load.acknowledged.size} acknowledged writes, ${load.images.size} images, ${load.refused.size} refused`);
    const events = await stored();
    assert.deepEqual(
      load.feed,
      events.map(({ id }) => id),
      "the feed has each event at one place",
    );
    await assertDeliveries(
      fleet,
      sink,
      events.map(({ id }) => String(id)),
      Number(begin),
    );
    assert.equal(concurrent, 1, "two servers sent to one sink at the same time");
    await assertNothingLeftBehind(fleet);
    await assertWrites(fleet, load);
    await assertImages(fleet, load);
  });
});

/** One server is frozen while another is cut off from the database; then the third is killed while one is cut off from the bucket. */
async function disturb({ members }: Fleet, load: Load, random: Random): Promise<void> {
  const first = random.below(3);
  const [a, b, c] = [first, (first + 1) % 3, (first + 2) % 3];
  const [frozen, silent, killed] = [members[a]!, members[b]!, members[c]!];
  frozen.server.kill("SIGSTOP");
  silent.database.blackHole();
  await load.progress(c);
  load.pause(ABSENCE_PAUSE_MS);
  await giveTime(ABSENCE_MS + random.below(2000));
  load.pause(0);
  frozen.server.kill("SIGCONT");
  silent.database.accept("pass");
  await load.progress(a, b, c);
  killed.server.kill("SIGKILL");
  frozen.storage.blackHole();
  silent.database.cut();
  await killed.server.ended;
  await load.progress(a, b);
  frozen.storage.cut();
  frozen.storage.accept("pass");
  silent.database.delayMs = 20;
  await killed.restart();
  await load.progress(a, b, c);
  silent.database.delayMs = 0;
}

async function assertWrites({ query, orgUid }: Fleet, { acknowledged, unknown, refused }: Load): Promise<void> {
  const rows = await query(`select uid, body from "group" where parent = '${orgUid}'`);
  const uids = new Map<string, string>();
  for (const { uid, body } of rows) {
    const { name } = JSON.parse(String(body)) as { name: string };
    if (!name.startsWith("group-")) continue;
    assert.equal(uids.has(name), false, `${name} was created twice`);
    uids.set(name, String(uid));
  }
  const isThere = (name: string) => uids.has(name);
  assert.deepEqual(
    [...acknowledged].filter((name) => !isThere(name)),
    [],
    "acknowledged writes are lost",
  );
  assert.deepEqual([...refused].filter(isThere), [], "refused writes happened");
  assert.equal(uids.size, acknowledged.size + [...unknown].filter(isThere).length);
  const events = await query("select subject, count(*) as events from outbox where type like '%group.created%' group by subject");
  const counts = new Map(events.map((row) => [String(row.subject), Number(row.events)]));
  for (const [name, uid] of uids) assert.equal(counts.get(uid), 1, `events of ${name}`);
}

/** Every server serves every image whose push any of them has acknowledged. */
async function assertImages({ members, token }: Fleet, { images }: Load): Promise<void> {
  assert.ok(images.size > 0);
  for (const [index, tag] of [...images].entries()) {
    using client = createRegistryClient(members[index % members.length]!.url, basic("_token", token));
    const manifest = await client.send("GET", `${REPOSITORY}/manifests/${tag}`);
    assert.equal(manifest.status, 200, tag);
    const { layers } = JSON.parse(manifest.body.toString()) as { layers: { digest: string }[] };
    for (const { digest } of layers)
      assert.equal((await client.send("GET", `${REPOSITORY}/blobs/${digest}`)).status, 200, `${tag}: ${digest}`);
  }
}

/** The sink has every event, and in the order of the feed, except events of which an attempt failed. */
async function assertDeliveries({ query }: Fleet, sink: WebhookReceiver, feed: readonly string[], begin: number): Promise<void> {
  const open = () => query("select event_id from delivery where state <> 'delivered' limit 1");
  await until(async () => (await open()).length === 0);
  const deliveries = await query("select event_id, attempts from delivery");
  const arrived = [...new Set(sink.at("/all").map(({ headers }) => String(headers["ce-id"])))];
  const expected = new Set(deliveries.map(({ event_id }) => String(event_id)));
  assert.deepEqual(
    [...expected].filter((id) => !arrived.includes(id)),
    [],
    "events did not arrive",
  );
  assert.ok(expected.size > 0 && expected.size >= feed.length - begin - 1);
  const late = new Set(deliveries.filter(({ attempts }) => Number(attempts) > 1).map(({ event_id }) => String(event_id)));
  const inOrder = (ids: readonly string[]) => ids.filter((id) => expected.has(id) && !late.has(id));
  assert.deepEqual(inOrder(arrived), inOrder(feed));
}

/** All images are scanned, and no server keeps a lease. */
async function assertNothingLeftBehind({ query }: Fleet): Promise<void> {
  await until(async () => (await query("select digest from image_scan where state = 'pending' limit 1")).length === 0);
  for (const table of ["image_scan", "subscription_queue"])
    await until(async () => (await query(`select 1 from ${table} where lease_time is not null limit 1`)).length === 0);
}
