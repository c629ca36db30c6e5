/**
 * Servers are killed and sinks fail during deliveries. Every event of an acknowledged write is delivered, hardly any
 * twice, and is in the feed.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Agent } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import pg from "pg";
import { rootOf } from "../../src/lib/uid.ts";
import { send } from "../harness/clients.ts";
import { freePort } from "../harness/free-port.ts";
import { createInstallation, get, printedToken, type RunningServer, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { createRandom, type Random, seedOf } from "../harness/random.ts";
import { verifyDelivery } from "../harness/verify-delivery.ts";
import { giveTime, until } from "../harness/wait.ts";
import {
  accept,
  afterMs,
  answer,
  type Behaviour,
  type Received,
  reset,
  silence,
  startWebhookReceiver,
} from "../harness/webhook-receiver.ts";

const SEED = seedOf(40);
const WRITERS = 16;
/** A time limit that only a lost delivery exceeds, even on a slow machine. */
const PATIENCE_MS = 240_000;

/** Deliveries whose outcome a killed server has not stored yet. */
const MAX_DUPLICATES_PER_KILL = 40;

/** Reads the database without the server. */
type Query = (sql: string) => Promise<Record<string, string | number | null>[]>;

function sqliteQuery(folder: string): Query {
  return async (sql) => {
    using database = new DatabaseSync(join(folder, "holt.db"), { readOnly: true });
    return database.prepare(sql).all() as never;
  };
}

/** What the sinks have accepted. */
interface Taken {
  /** By event id. */
  readonly events: Map<string, { readonly subject: string; readonly digest: string; count: number }>;
  /** Deliveries of events that were accepted before. */
  duplicates: number;
  /** The first violation. */
  fault: string | undefined;
  /** The most concurrent attempts at one sink. */
  concurrent: number;
  /** The kinds of failed attempts. */
  readonly failures: Set<Failure>;
}

function take(taken: Taken, { headers, body }: Received): void {
  const id = String(headers["ce-id"]);
  const digest = createHash("sha256").update(body).digest("hex");
  const known = taken.events.get(id);
  if (known === undefined) return void taken.events.set(id, { subject: String(headers["ce-subject"]), digest, count: 1 });
  known.count++;
  taken.duplicates++;
  if (known.digest !== digest) taken.fault ??= `the event ${id} came with two bodies`;
}

type Failure = "hang" | "error" | "pause" | "reset" | "late error";

/** Picks how an attempt fails; `hangs` of a thousand get no answer. */
function failing(random: Random, hangs: number): { failure: Failure; behaviour: Behaviour } {
  const chance = random.below(1000);
  if (chance < hangs) return { failure: "hang", behaviour: silence };
  if (chance < 120) return { failure: "error", behaviour: answer(random.pick([500, 502, 503])) };
  if (chance < 140) return { failure: "pause", behaviour: answer(429, { "retry-after": "0" }) };
  if (chance < 240) return { failure: "reset", behaviour: reset };
  return { failure: "late error", behaviour: afterMs(5 + random.below(30), answer(503)) };
}

/** Accepts most events, some of them late. Three in ten attempts fail. */
function chaos(taken: Taken, random: Random, { baseUrl, hangs }: { baseUrl: string; hangs: number }): Behaviour {
  return (response, received) => {
    taken.concurrent = Math.max(taken.concurrent, received.concurrent);
    if (random.below(1000) < 300) {
      const { failure, behaviour } = failing(random, hangs);
      taken.failures.add(failure);
      return behaviour(response, received);
    }
    take(taken, received);
    if (random.oneIn(20)) verify(taken, received, baseUrl);
    (random.oneIn(50) ? afterMs(5 + random.below(20), accept) : accept)(response, received);
  };
}

function verify(taken: Taken, received: Received, issuer: string): void {
  const group = received.url.slice(1);
  verifyDelivery(received, { issuer, group }).catch((error: Error) => {
    // A killed server does not serve its keys.
    if ("status" in error) taken.fault ??= error.message;
  });
}

/** Creates groups in the homes one after another, and retries while no server runs. @returns the acknowledged uids */
async function write(baseUrls: readonly string[], token: string, homes: readonly string[], count: number): Promise<string[]> {
  const agent = new Agent({ keepAlive: true });
  const acknowledged: string[] = [];
  try {
    for (let i = 0; acknowledged.length < count; i++) {
      const [baseUrl = "", home = ""] = [baseUrls[i % baseUrls.length], homes[i % homes.length]];
      const body = JSON.stringify({ name: `made-${i}` });
      const headers = { authorization: `Bearer ${token}` };
      const made = await send(agent, baseUrl, "POST", `/iam/v2/groups/${home}`, headers, body).catch(() => undefined);
      if (made === undefined) await giveTime(50);
      else if (made.status === 200) acknowledged.push((JSON.parse(made.text) as { uid: string }).uid);
      else if (made.status < 500) throw new Error(`a group was refused: ${made.status} ${made.text}`);
    }
  } finally {
    agent.destroy();
  }
  return acknowledged;
}

/** Creates groups with a subscription each; the path of its sink is the uid of the group. */
async function subscribe(baseUrl: string, token: string, sink: string, count: number): Promise<string[]> {
  const { json } = await get(baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
  const orgUid = (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
  const post = async (path: string, body: object): Promise<string> => {
    const made = await fetch(baseUrl + path, { method: "POST", headers: { authorization: `Bearer ${token}` }, body: JSON.stringify(body) });
    assert.equal(made.status, 200);
    return ((await made.json()) as { uid: string }).uid;
  };
  const homes: string[] = [];
  for (let i = 0; i < count; i++) {
    const home = await post(`/iam/v2/groups/${orgUid}`, { name: `home-${i}` });
    await post(`/events/v2/subscriptions/${home}`, { sink: `${sink}/${home}` });
    homes.push(home);
  }
  return homes;
}

/** A reader of the feed that retries while no server runs. */
interface Follower {
  readonly ids: ReadonlySet<string>;
  /** Reads to the end of the feed. @returns the number of repeated events */
  end(): Promise<number>;
}

function follow(baseUrl: string, token: string, group: string): Follower {
  const agent = new Agent({ keepAlive: true });
  const ids = new Set<string>();
  let isEnding = false;
  async function read(): Promise<number> {
    let told = 0;
    for (let cursor = "", isCurrent = false; !(isEnding && isCurrent); ) {
      const path = `/holt/v1/events/${group}?page_size=200&cursor=${encodeURIComponent(cursor)}`;
      const answer = await send(agent, baseUrl, "GET", path, { authorization: `Bearer ${token}` }).catch(() => undefined);
      if (answer?.status !== 200) {
        await giveTime(50);
        continue;
      }
      const page = JSON.parse(answer.text) as { events: { id: string }[]; cursor: string; hasMore: boolean };
      for (const { id } of page.events) ids.add(id);
      told += page.events.length;
      cursor = page.cursor;
      isCurrent = !page.hasMore;
      if (isCurrent) await giveTime(100);
    }
    return told - ids.size;
  }
  const reading = read().finally(() => agent.destroy());
  reading.catch(() => {});
  return {
    ids,
    end() {
      isEnding = true;
      return reading;
    },
  };
}

/** Asserts that every stored event was accepted, including those of all acknowledged writes. */
async function assertAllTaken(taken: Taken, acknowledged: readonly string[], homes: readonly string[], query: Query): Promise<void> {
  const rows = await query("select id, group_uid from outbox where audience = 'customer'");
  // The event of a home's creation goes to the home, whose subscription was created later.
  const expected = rows.filter(({ group_uid }) => homes.some((home) => String(group_uid).startsWith(`${home}/`)));
  const lost = () => expected.filter(({ id }) => !taken.events.has(String(id)));
  await until(() => lost().length === 0, PATIENCE_MS).catch(() => {});
  assert.deepEqual(lost(), []);
  const subjects = new Set([...taken.events.values()].map(({ subject }) => subject));
  assert.deepEqual(
    acknowledged.filter((uid) => !subjects.has(uid)),
    [],
  );
  await until(async () => (await query("select event_id from delivery where state <> 'delivered' limit 1")).length === 0, PATIENCE_MS);
  assert.equal(taken.fault, undefined);
}

const newTaken = (): Taken => ({ events: new Map(), duplicates: 0, fault: undefined, concurrent: 0, failures: new Set() });
const delivering = { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", HOLT_WEBHOOK_BACKOFF: "50ms,200ms,1s", HOLT_LOG_LEVEL: "error" };

test("8,000 events reach 10 unreliable sinks and the feed despite 5 kills of the server", async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const [events, kills] = [8000, 5];
  const random = createRandom(SEED);
  await using folder = await temporaryFolder();
  await using sink = await startWebhookReceiver({ keeps: false });
  const listen = `127.0.0.1:${await freePort()}`;
  const settings: Settings = { ...delivering, HOLT_DATA_DIR: folder.path, HOLT_LISTEN: listen, HOLT_WEBHOOK_TIMEOUT: "10s" };
  const baseUrl = `http://${listen}`;
  const query = sqliteQuery(folder.path);
  const taken = newTaken();
  // Few attempts hang, since each delays its sink for ten seconds. A shorter time would also affect a busy machine.
  sink.behave(chaos(taken, random, { baseUrl, hangs: 3 }));
  await createInstallation(settings);
  const token = await printedToken(settings);
  let server: RunningServer = await startHoltd(settings);
  try {
    const homes = await subscribe(baseUrl, token, sink.url, 10);
    const begin = performance.now();
    const follower = follow(baseUrl, token, rootOf(homes[0] ?? ""));
    const writers = Promise.all(Array.from({ length: WRITERS }, () => write([baseUrl], token, homes, events / WRITERS)));
    writers.catch(() => {});
    for (let kill = 1; kill <= kills; kill++) {
      await until(() => taken.events.size >= (kill * events) / (kills + 1), PATIENCE_MS);
      await giveTime(random.below(300));
      server.kill("SIGKILL");
      await server.ended;
      server = await startHoltd(settings);
    }
    const acknowledged = (await writers).flat();
    t.diagnostic(`${acknowledged.length} writes acknowledged after ${Math.round((performance.now() - begin) / 1000)} s`);
    await assertAllTaken(taken, acknowledged, homes, query);
    t.diagnostic(`${taken.events.size} events taken, ${taken.duplicates} twice, after ${Math.round((performance.now() - begin) / 1000)} s`);
    assert.ok(taken.events.size >= events);
    assert.deepEqual([...taken.failures].sort(), ["error", "hang", "late error", "pause", "reset"]);
    assert.equal(await follower.end(), 0);
    const untold = [...taken.events.keys()].filter((id) => !follower.ids.has(id));
    assert.deepEqual(untold, []);
    assert.ok(taken.duplicates <= kills * MAX_DUPLICATES_PER_KILL, `${taken.duplicates} duplicates`);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});

test("two servers on one PostgreSQL deliver each event once, and one takes over from the other when it is killed", async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const events = 3000;
  const random = createRandom(SEED);
  await using folder = await temporaryFolder();
  await using sink = await startWebhookReceiver({ keeps: false });
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  const HOLT_BASE_URL = `http://127.0.0.1:${await freePort()}`;
  const settings: Settings = { ...delivering, HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL, HOLT_BASE_URL };
  const client = new pg.Client({ connectionString: HOLT_DATABASE_URL });
  await client.connect();
  const query: Query = async (sql) => (await client.query(sql)).rows;
  const taken = newTaken();
  // No attempt hangs, because the sink can notice an aborted attempt late, which would falsify the count of concurrent ones.
  sink.behave(chaos(taken, random, { baseUrl: HOLT_BASE_URL, hangs: 0 }));
  try {
    await using _survivor = await startHoltd({ ...settings, HOLT_LISTEN: new URL(HOLT_BASE_URL).host });
    const listen = `127.0.0.1:${await freePort()}`;
    await using victim = await startHoltd({ ...settings, HOLT_LISTEN: listen });
    const token = await printedToken({ ...settings, HOLT_LISTEN: new URL(HOLT_BASE_URL).host });
    const homes = await subscribe(HOLT_BASE_URL, token, sink.url, 8);
    const baseUrls = [HOLT_BASE_URL, `http://${listen}`];
    const writers = Promise.all(Array.from({ length: WRITERS }, () => write(baseUrls, token, homes, Math.ceil(events / WRITERS))));
    writers.catch(() => {});
    const holders = new Set<string>();
    await until(async () => {
      for (const { lease_holder } of await query("select lease_holder from subscription_queue where lease_holder is not null"))
        holders.add(String(lease_holder));
      return holders.size === 2 && taken.events.size >= events / 3;
    }, PATIENCE_MS);
    const before = { ...taken };
    victim.kill("SIGKILL");
    await victim.ended;
    const acknowledged = (await writers).flat();
    await assertAllTaken(taken, acknowledged, homes, query);
    t.diagnostic(`${taken.events.size} events taken, ${taken.duplicates} twice`);
    assert.equal(before.duplicates, 0);
    assert.equal(taken.concurrent, 1);
    // At most 16 outcomes of a subscription are not stored yet.
    assert.ok(taken.duplicates <= 16 * homes.length, `${taken.duplicates} duplicates`);
  } finally {
    await client.end();
  }
});

test("a server that was stopped properly repeats no delivery after its next start", async (t) => {
  const [events, stops] = [1500, 4];
  await using folder = await temporaryFolder();
  await using sink = await startWebhookReceiver({ keeps: false });
  const listen = `127.0.0.1:${await freePort()}`;
  const settings: Settings = { ...delivering, HOLT_DATA_DIR: folder.path, HOLT_LISTEN: listen };
  const query = sqliteQuery(folder.path);
  const taken = newTaken();
  sink.behave((response, received) => {
    take(taken, received);
    afterMs(taken.events.size % 10, accept)(response, received);
  });
  let server: RunningServer = await startHoltd(settings);
  try {
    const token = await printedToken(settings);
    const homes = await subscribe(server.baseUrl, token, sink.url, 5);
    const writers = Promise.all(Array.from({ length: WRITERS }, () => write([server.baseUrl], token, homes, Math.ceil(events / WRITERS))));
    writers.catch(() => {});
    for (let stop = 1; stop <= stops; stop++) {
      await until(() => taken.events.size >= (stop * events) / (stops + 1), PATIENCE_MS);
      server.kill("SIGTERM");
      assert.equal((await server.ended).code, 0);
      server = await startHoltd(settings);
    }
    await assertAllTaken(taken, (await writers).flat(), homes, query);
    t.diagnostic(`${taken.events.size} events taken`);
    assert.equal(taken.duplicates, 0);
  } finally {
    await server[Symbol.asyncDispose]();
  }
});
