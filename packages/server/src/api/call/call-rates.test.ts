import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT_NAMES, type Limits } from "../../db/organization-limits.ts";
import type { ReadDb } from "../../db/store.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { newUid } from "../../lib/uid.ts";
import { createCallRates } from "./call-rates.ts";

/** A database that only knows the limits of organizations. */
function databaseOf(limits: Readonly<Record<string, Limits>>): { db: ReadDb; reads(): number } {
  let reads = 0;
  const rowsOf = (orgUid: string) => LIMIT_NAMES.flatMap((name) => (limits[orgUid]?.[name] ? [{ name, value: limits[orgUid][name] }] : []));
  const query = (orgUid: string) => ({
    select: () => query(orgUid),
    where: (_column: string, _operator: string, value: string) => query(value),
    async execute() {
      reads++;
      return rowsOf(orgUid);
    },
  });
  return { db: { selectFrom: () => query("") } as unknown as ReadDb, reads: () => reads };
}

test("calls beyond the rate are refused with the time to wait, each identity and organization by itself", async () => {
  const [org, other] = [newUid(""), newUid("")];
  const { db } = databaseOf({ [org]: { calls_per_second: 4, calls_per_second_per_identity: 2 } });
  let now = 0;
  const rates = createCallRates(() => now);
  const admit = (scope: string, who: string) =>
    (async () => rates.admit([scope], who, db))().then(
      () => "ok",
      (error: unknown) => {
        assert.ok(error instanceof HoltError && error.code === Code.RESOURCE_EXHAUSTED);
        assert.ok((error.details.retryAfterSeconds ?? 0) >= 1);
        return error.details.metadata?.resource;
      },
    );
  assert.deepEqual([await admit(org, "a"), await admit(org, "a"), await admit(org, "a")], ["ok", "ok", "calls_per_second_per_identity"]);
  assert.deepEqual([await admit(org, "b"), await admit(org, "b"), await admit(org, "c")], ["ok", "ok", "calls_per_second"]);
  for (let i = 0; i < 10; i++) assert.equal(await admit(other, "a"), "ok");
  now += 500;
  assert.deepEqual([await admit(org, "a"), await admit(org, "a")], ["ok", "calls_per_second_per_identity"]);
  now += 60_000;
  assert.deepEqual([await admit(org, "a"), await admit(org, "a"), await admit(org, "a")], ["ok", "ok", "calls_per_second_per_identity"]);
});

test("a call in several organizations counts in each of them", async () => {
  const [org, other] = [newUid(""), newUid("")];
  const { db } = databaseOf({ [org]: { calls_per_second: 2 }, [other]: { calls_per_second: 1 } });
  const rates = createCallRates(() => 0);
  await rates.admit([org, other], "a", db);
  assert.throws(() => rates.admit([other], "a", db), /limit of calls_per_second is 1/);
  await rates.admit([org], "a", db);
  assert.throws(() => rates.admit([org], "a", db), /limit of calls_per_second is 2/);
});

test("a call that the limit of one organization refuses takes nothing from its identity and other organizations", async () => {
  const [org, other] = [newUid(""), newUid("")];
  const { db } = databaseOf({
    [org]: { calls_per_second: 1, calls_per_second_per_identity: 2 },
    [other]: { calls_per_second: 1, calls_per_second_per_identity: 1 },
  });
  const rates = createCallRates(() => 0);
  await rates.admit([other], "b", db);
  await assert.rejects(async () => rates.admit([org, other], "a", db), /limit of calls_per_second is 1/);
  assert.throws(() => rates.admit([other], "a", db), /limit of calls_per_second is 1/);
  await rates.admit([org], "a", db);
});

test("a call beyond the rates of two organizations is refused once, also while the limits of one are read again", async () => {
  const [org, other] = [newUid(""), newUid("")];
  const { db } = databaseOf({ [org]: { calls_per_second: 1 }, [other]: { calls_per_second: 1 } });
  let now = 0;
  const rates = createCallRates(() => now);
  await rates.admit([org], "a", db);
  now += 1999;
  await rates.admit([org, other], "a", db);
  now += 1;
  // A second rejection, which nobody handles, would fail the test.
  await assert.rejects(async () => rates.admit([org, other], "a", db), { code: Code.RESOURCE_EXHAUSTED });
});

test("the limits of an organization are read again after two seconds, and not for every call", async () => {
  const org = newUid("");
  const { db, reads } = databaseOf({});
  let now = 0;
  const rates = createCallRates(() => now);
  for (let i = 0; i < 100; i++) await rates.admit([org], "a", db);
  assert.equal(reads(), 1);
  now += 2000;
  await rates.admit([org], "a", db);
  assert.equal(reads(), 2);
});
