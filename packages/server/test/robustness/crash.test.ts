/** A server that is killed under concurrent writes keeps every acknowledged write and no partial one. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import pg from "pg";
import { cpuTimeOfProcess } from "../harness/cpu-cost.ts";
import { freePort } from "../harness/free-port.ts";
import { createInstallation, get, printedToken, type Settings, startHoltd, startProcess, temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { createRandom, seedOf } from "../harness/random.ts";
import { type Known, type Ledger, markDeleted, writeUntilGone } from "../harness/robustness/writers.ts";
import { giveTime, until } from "../harness/wait.ts";

const WRITERS = 8;
const KINDS = ["group", "identity", "role", "role_binding"] as const;
const SEED = seedOf(20);

/** Reads the database without the server. */
type Query = (sql: string) => Promise<Record<string, string | number | null>[]>;

async function homesOf(baseUrl: string, token: string): Promise<string[]> {
  const { json } = await get(baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
  const orgUid = (json as { groups: { uid: string }[] }).groups[0]?.uid ?? "";
  const homes: string[] = [];
  for (let i = 0; i < WRITERS; i++) {
    const answer = await fetch(`${baseUrl}/iam/v2/groups/${orgUid}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: `home-${i}` }),
    });
    homes.push(((await answer.json()) as { uid: string }).uid);
  }
  return homes;
}

/** Determines the outcome of unanswered writes, and checks all others against what was acknowledged. */
async function settle(ledger: Ledger, homes: readonly string[], query: Query): Promise<void> {
  const rows = new Map<string, { kind: string; body: { name?: string; description?: string; identityUid?: string } }>();
  for (const kind of KINDS) {
    for (const { uid, body } of await query(`select uid, body from "${kind}"`)) {
      const isOurs = homes.some((home) => String(uid).startsWith(`${home}/`));
      if (isOurs) rows.set(String(uid), { kind, body: JSON.parse(String(body)) });
    }
  }
  for (const resource of ledger.known.values()) settleDeletion(resource, rows.has(resource.uid), ledger);
  for (const resource of ledger.known.values()) {
    const row = rows.get(resource.uid);
    if (resource.state !== "there") assert.equal(row, undefined, `the deleted ${resource.kind} ${resource.uid} exists again`);
    else settleUpdate(resource, row?.body);
    rows.delete(resource.uid);
  }
  for (const [uid, { kind, body }] of rows) {
    const index = ledger.pending.findIndex(
      (pending) =>
        pending.kind === kind &&
        uid.startsWith(`${pending.parent}/`) &&
        (kind === "role_binding" ? body.identityUid === pending.identityUid : body.name === pending.name),
    );
    assert.ok(index >= 0, `nobody asked for the ${kind} ${uid}`);
    const [made] = ledger.pending.splice(index, 1);
    ledger.known.set(uid, { kind: made!.kind, uid, identityUid: made!.identityUid, description: "", updates: 0, state: "there" });
  }
  ledger.pending = [];
}

function settleDeletion(resource: Known, isThere: boolean, ledger: Ledger): void {
  if (resource.maybeDeleted && !isThere) markDeleted(resource, ledger);
  resource.maybeDeleted = undefined;
}

function settleUpdate(resource: Known, body: { description?: string } | undefined): void {
  assert.ok(body !== undefined, `the ${resource.kind} ${resource.uid} was acknowledged but is lost`);
  if (resource.maybeDescription !== undefined && body.description === resource.maybeDescription) {
    resource.description = resource.maybeDescription;
    resource.updates++;
  }
  resource.maybeDescription = undefined;
  if (resource.kind !== "role_binding") assert.equal(body.description, resource.description, `an update of ${resource.uid} is lost`);
}

/** Asserts exactly one event for each stored change, and no others. */
async function assertEvents(ledger: Ledger, homes: readonly string[], query: Query): Promise<void> {
  const found = new Map<string, number>();
  for (const { subject, type } of await query("select subject, type from outbox")) {
    if (!homes.some((home) => String(subject).startsWith(`${home}/`))) continue;
    const key = `${subject} ${String(type).split(".").at(-2)}`;
    found.set(key, (found.get(key) ?? 0) + 1);
  }
  const wanted = new Map<string, number>();
  for (const { uid, updates, state } of ledger.known.values()) {
    wanted.set(`${uid} created`, 1);
    if (updates > 0) wanted.set(`${uid} updated`, updates);
    if (state === "deleted") wanted.set(`${uid} deleted`, 1);
  }
  assert.deepEqual(new Map([...found].sort()), new Map([...wanted].sort()));
}

/** Asserts that every maintained count equals the counted rows, for each group and in total. */
async function assertCounts(query: Query): Promise<void> {
  const groups = (await query('select uid from "group"')).map(({ uid }) => String(uid));
  const wanted = new Map<string, string>();
  for (const kind of KINDS) {
    const rows = (await query(`select uid, parent from "${kind}"`)).map(({ uid, parent }) => ({ uid: String(uid), parent }));
    wanted.set(`/ ${kind}`, `${rows.length} below, ${rows.filter(({ parent }) => parent === null).length} direct`);
    for (const group of groups) {
      const below = rows.filter(({ uid }) => uid.startsWith(`${group}/`)).length;
      const direct = rows.filter(({ parent }) => parent === group).length;
      wanted.set(`${group} ${kind}`, `${below} below, ${direct} direct`);
    }
  }
  const counts = await query(
    "select group_uid, kind, sum(below) as below, sum(direct) as direct from resource_count group by group_uid, kind",
  );
  const found = new Map([...wanted.keys()].map((key) => [key, "0 below, 0 direct"]));
  for (const { group_uid, kind, below, direct } of counts) found.set(`${group_uid} ${kind}`, `${below} below, ${direct} direct`);
  assert.deepEqual(found, wanted);
}

interface CrashOptions {
  readonly settings: Settings;
  readonly rounds: number;
  readonly query: Query;
  /** Waits until no transaction of a killed server is running. */
  untilGone(): Promise<void>;
}

async function crashAgainAndAgain({ settings, rounds, query, untilGone }: CrashOptions): Promise<Ledger> {
  const random = createRandom(SEED);
  const ledger: Ledger = { known: new Map(), pending: [], acknowledged: 0 };
  await createInstallation(settings);
  const token = await printedToken(settings);
  let homes: string[] = [];
  const starts: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await using server = await startHoltd(settings);
    starts.push(cpuTimeOfProcess(server.pid));
    if (round === 0) homes = await homesOf(server.baseUrl, token);
    await settle(ledger, homes, query);
    await assertEvents(ledger, homes, query);
    await assertCounts(query);
    if (round === rounds) break;
    const before = ledger.acknowledged;
    const writers = homes.map((home, i) =>
      writeUntilGone({
        baseUrl: server.baseUrl,
        token,
        home,
        name: `w${i}-${round}`,
        random: createRandom(SEED + round * 100 + i),
        ledger,
      }),
    );
    const finished = Promise.all(writers);
    finished.catch(() => {});
    // Kills come soon after a start and after a hundred writes by turns, so that a slow machine acknowledges enough in all.
    const enough = before + (round % 2 === 0 ? random.below(20) : 100 + random.below(40));
    await Promise.race([until(() => ledger.acknowledged > enough), finished]);
    await giveTime(random.below(250));
    server.kill("SIGKILL");
    await finished;
    await server.ended;
    await untilGone();
    assert.ok(ledger.acknowledged > before);
  }
  const [first = 0, ...restarts] = starts;
  const typical = restarts.sort((a, b) => a - b)[restarts.length >> 1] ?? 0;
  assert.ok(typical <= 3 * first, `a start after a kill costs ${typical} ms of CPU time, the first one cost ${first}`);
  return ledger;
}

test("acknowledged writes survive kills on SQLite with their events and counts, and the file stays intact", async (t) => {
  t.diagnostic(`seed ${SEED}`);
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_LOG_LEVEL: "error" };
  const query: Query = async (sql) => {
    using database = new DatabaseSync(join(folder.path, "holt.db"), { readOnly: true });
    return database.prepare(sql).all() as never;
  };
  const untilGone = async () => {
    using database = new DatabaseSync(join(folder.path, "holt.db"));
    assert.deepEqual(
      database
        .prepare("pragma integrity_check")
        .all()
        .map((row) => ({ ...row })),
      [{ integrity_check: "ok" }],
    );
    assert.deepEqual(database.prepare("pragma foreign_key_check").all(), []);
  };
  const ledger = await crashAgainAndAgain({ settings, rounds: 10, query, untilGone });
  t.diagnostic(`${ledger.acknowledged} acknowledged writes`);
  assert.ok(ledger.acknowledged > 500, `${ledger.acknowledged}`);
});

test("acknowledged writes survive kills on PostgreSQL with their events and counts", async (t) => {
  t.diagnostic(`seed ${SEED}`);
  const HOLT_DATABASE_URL = await createMigratedDatabase();
  await using folder = await temporaryFolder();
  const client = new pg.Client({ connectionString: HOLT_DATABASE_URL });
  await client.connect();
  const query: Query = async (sql) => (await client.query(sql)).rows;
  // A commit that was already sent is still applied.
  const untilGone = () =>
    until(async () => {
      const [row] = await query(
        "select count(*) as n from pg_stat_activity where application_name = 'holt' and datname = current_database()",
      );
      return Number(row?.n) === 0;
    });
  try {
    const settings = {
      HOLT_DATABASE_URL,
      HOLT_DATA_DIR: folder.path,
      HOLT_LISTEN: `127.0.0.1:${await freePort()}`,
      HOLT_LOG_LEVEL: "error",
    };
    const ledger = await crashAgainAndAgain({ settings, rounds: 3, query, untilGone });
    t.diagnostic(`${ledger.acknowledged} acknowledged writes`);
    assert.ok(ledger.acknowledged > 100, `${ledger.acknowledged}`);
  } finally {
    await client.end();
  }
});

test("the next start completes a first start that was killed", async () => {
  const random = createRandom(SEED);
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_LOG_LEVEL: "error" };
  for (let round = 0; round < 4; round++) {
    await using server = startProcess([], settings);
    await giveTime(150 + random.below(400));
    server.kill("SIGKILL");
    await server.ended;
  }
  await using server = await startHoltd(settings);
  const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", await printedToken(settings));
  assert.equal((json as { groups: unknown[] }).groups.length, 1);
});
