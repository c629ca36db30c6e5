import assert from "node:assert/strict";
import { test } from "node:test";
import type { DnsAnswer } from "./dns-query.ts";
import { createNameLookup, type Resolve } from "./name-lookup.ts";

const addresses = [{ address: "1.1.1.1", family: 4 }];

/** Answers at once, except for names that begin with "dead", which wait for `endAll`. */
function createResolver() {
  const asked: string[] = [];
  const held = new Map<string, () => void>();
  const ask: Resolve = (hostname, _options, callback) => {
    asked.push(hostname);
    if (hostname.startsWith("dead")) held.set(hostname, () => held.delete(hostname) && callback(new Error("no answer"), []));
    else setImmediate(() => callback(null, addresses));
  };
  const endAll = (): void => {
    for (const end of [...held.values()]) end();
  };
  return { ask, asked, held, endAll };
}

function lookUp(resolve: Resolve, hostname: string): Promise<unknown> {
  return new Promise((done, fail) => resolve(hostname, { all: true }, (error, found) => (error === null ? done(found) : fail(error))));
}

test("each lookup asks the resolver again, and concurrent lookups of a name share one query", async () => {
  const { ask, asked } = createResolver();
  const resolve = createNameLookup(ask);
  assert.deepEqual(await lookUp(resolve, "a.test"), addresses);
  assert.deepEqual(await Promise.all([lookUp(resolve, "a.test"), lookUp(resolve, "a.test"), lookUp(resolve, "b.test")]), [
    addresses,
    addresses,
    addresses,
  ]);
  assert.deepEqual(asked, ["a.test", "a.test", "b.test"]);
});

test("names without an answer do not block known names, and delay new names only briefly", async () => {
  const { ask, held, endAll } = createResolver();
  let now = 0;
  const resolve = createNameLookup(ask, { slowMs: 100, now: () => now });
  await lookUp(resolve, "known.test");
  const dead = Array.from({ length: 100 }, (_, i) => lookUp(resolve, `dead-${i}.test`).catch(() => "failed"));
  assert.equal(held.size, 6);
  assert.deepEqual(await lookUp(resolve, "known.test"), addresses);
  while (held.size > 0) {
    now += 100;
    endAll();
  }
  assert.deepEqual(await Promise.all(dead), Array(100).fill("failed"));

  const again = Array.from({ length: 100 }, (_, i) => lookUp(resolve, `dead-${i}.test`).catch(() => "failed"));
  assert.equal(held.size, 3);
  assert.deepEqual(await lookUp(resolve, "new.test"), addresses);
  while (held.size > 0) endAll();
  await Promise.all(again);
});

test("a lookup without waiting callers is not sent", async () => {
  const { ask, asked, endAll } = createResolver();
  let now = 0;
  const resolve = createNameLookup(ask, { maxWaitMs: 5, now: () => now });
  const dead = Array.from({ length: 7 }, (_, i) => lookUp(resolve, `dead-${i}.test`));
  const failed = Promise.allSettled(dead);
  now = 6;
  endAll();
  await failed;
  assert.equal(asked.length, 6);
});

/** DNS answers at once, except for names that begin with "dead". It does not know names that begin with "local". */
function createQuery() {
  const held: (() => void)[] = [];
  const query = (hostname: string): Promise<DnsAnswer> => {
    if (hostname.startsWith("dead")) return new Promise((resolve) => held.push(() => resolve({ addresses: [], isAnswered: false })));
    return Promise.resolve(hostname.startsWith("local") ? { addresses: [], isAnswered: true } : { addresses, isAnswered: true });
  };
  return { query, held };
}

test("any number of dead names delays neither new names nor those that only the system knows", async () => {
  const { ask, asked, held: systemHeld, endAll } = createResolver();
  const { query, held } = createQuery();
  const resolve = createNameLookup(ask, { query });
  const dead = Array.from({ length: 500 }, (_, i) => lookUp(resolve, `dead-${i}.test`).catch(() => "failed"));
  assert.equal(held.length, 500);
  for (let i = 0; i < 100; i++) assert.deepEqual(await lookUp(resolve, `new-${i}.test`), addresses);
  assert.deepEqual(asked, []);
  assert.deepEqual(await lookUp(resolve, "local.test"), addresses);
  assert.deepEqual(asked, ["local.test"]);
  // Names of which DNS does not answer may still be known to the system, which is asked about few at a time.
  for (const end of held) end();
  await new Promise(setImmediate);
  assert.equal(systemHeld.size, 3);
  assert.deepEqual(await lookUp(resolve, "local-2.test"), addresses);
  assert.deepEqual(await lookUp(resolve, "new.test"), addresses);
  while (systemHeld.size > 0) endAll();
  assert.deepEqual(await Promise.all(dead), Array(500).fill("failed"));
});

test("a name that the system knew quickly is asked of the system again", async () => {
  const { ask, asked } = createResolver();
  const queried: string[] = [];
  const query = async (hostname: string) => {
    queried.push(hostname);
    return { addresses: [], isAnswered: true };
  };
  const resolve = createNameLookup(ask, { query });
  for (let i = 0; i < 2; i++) assert.deepEqual(await lookUp(resolve, "local.test"), addresses);
  assert.deepEqual([queried, asked], [["local.test"], ["local.test", "local.test"]]);
});
