/** Anonymous callers cannot make a server fetch keys without limit by unknown key ids, or spend time without limit by hostile patterns. */
import assert from "node:assert/strict";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { RE2JS } from "re2js";
import { createMatching, matchesPattern, parsePattern } from "../../src/iam/tokens/pattern.ts";
import { HoltError } from "../../src/lib/errors.ts";
import { cpuTime } from "../harness/cpu-cost.ts";
import { API, createFixture, ISSUER } from "../harness/exchange-fixture.ts";
import { part } from "../harness/forged-tokens.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { createRandom } from "../harness/random.ts";

test("ten thousand tokens with unknown key ids cause one fetch per issuer in thirty seconds", async (t) => {
  await using world = await createFixture();
  await using first = await startIssuer({ now: world.clock.now });
  await using second = await startIssuer({ now: world.clock.now });
  const group = await world.addGroup();
  const issuers = await Promise.all(
    [first, second].map(async (issuer) => {
      const iss = { case: "issuer", value: issuer.issuer } as const;
      const identity = await world.addIdentity(group, { case: "claimMatch", value: { iss, sub: { case: "subject", value: "a" } } });
      const [header = "", payload, signature] = (await issuer.sign({ sub: "a", aud: ISSUER })).split(".");
      const members = JSON.parse(Buffer.from(header, "base64url").toString()) as object;
      return { issuer, identity, tokenOf: (kid: string) => `${part({ ...members, kid })}.${payload}.${signature}` };
    }),
  );
  let refused = 0;
  const present = async (i: number): Promise<void> => {
    const { identity, tokenOf } = issuers[i % 2]!;
    const error = await world.exchangeToken(tokenOf(`made-up-${i}`), { identity }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof HoltError, "let in");
    refused++;
  };
  const start = cpuTime();
  // Ten seconds of the issuers' clock, as fast as this machine can.
  for (let i = 0; i < 10_000; i += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, j) => present(i + j)));
    world.clock.advance(100);
  }
  t.diagnostic(`10,000 tokens in ${Math.round(cpuTime() - start)} ms of CPU time`);
  assert.equal(refused, 10_000);
  // One fetch consists of two requests: discovery and keys.
  for (const { issuer } of issuers) assert.equal(issuer.requests, 2);

  // Another two and a half minutes allow at most five more fetches for any number of tokens.
  for (let i = 0; i < 150; i++) {
    await Promise.all(Array.from({ length: 20 }, (_, j) => present(i * 20 + j)));
    world.clock.advance(1000);
  }
  for (const { issuer } of issuers) assert.ok(issuer.requests <= 2 * 6, `${issuer.requests} requests`);
  for (const { issuer, identity } of issuers) {
    const { token } = await world.exchangeToken(await issuer.sign({ sub: "a", aud: ISSUER }), { identity });
    assert.deepEqual((await world.accessTokens.verify(token.token)).audience, [API]);
  }
});

/** Patterns that are slow in backtracking engines, in compilers, in large automata or in character tables. */
const SHAPES: readonly ((n: number, text: string) => string)[] = [
  () => "(a+)+b",
  () => "(a|a)*b",
  () => "(a|aa)+$",
  () => "(.*)*x",
  () => "(x+x+)+y",
  () => "([a-zA-Z]+)*!",
  (n) => `(a?){${n % 60}}a{${n % 60}}`,
  (n) => `(?:.?){${n % 150}}Z`,
  (n) => `.*a.{${n % 280}}Z`,
  (n) => `${"(".repeat(n % 100)}a${")".repeat(n % 100)}`,
  (n) => `${"(a*".repeat(n % 40)}${")*".repeat(n % 40)}`,
  (n) => `(a{${n % 30}}){${n % 30}}`,
  (n) => `((a{${n % 12}}){${n % 12}}){${n % 12}}`,
  (n) => `(${"a|".repeat(n % 120)}b)*`,
  (n) => `(?i)(${"\\pL|".repeat(n % 5)}x)+`,
  (n) => `[^${"a-z".repeat(n % 60)}]*`,
  (n) => `(?i)[\\x{100}-\\x{${(0x200 + n * 40).toString(16)}}]+`,
  (n) => `(?s).*(?:.*){${n % 70}}`,
  (n) => `\\Q${"a".repeat(n % 250)}\\E*`,
  (n) => `(?:(?:a|b)?){${n % 90}}c`,
  (_, text) => text,
];
const TEXTS: readonly ((n: number) => string)[] = [
  (n) => "a".repeat(n % 513),
  () => `${"a".repeat(511)}!`,
  () => "ab".repeat(256),
  () => "\u{1f600}".repeat(256),
  () => "\u0130\u0131".repeat(256),
  (n) => "x".repeat(600 + n),
  () => "a\n".repeat(256),
];

test("a thousand hostile patterns each cost only time in proportion to their size", async (t) => {
  const random = createRandom(20_300_101);
  const alphabet = [..."ab(|)*+?{1,9}[]^-.$\\pLQE:i\u00e9"];
  const garbage = () => Array.from({ length: 1 + random.below(200) }, () => random.pick(alphabet)).join("");
  /** The time of the most expensive permitted patterns on this machine. */
  const unit = costOfAll();
  let [worst, total, valid] = [0, 0, 0];
  using delays = enabled(monitorEventLoopDelay({ resolution: 5 }));
  for (let i = 0; i < 1000; i++) {
    const shape = SHAPES[i % SHAPES.length]!;
    const [pattern, text] = [shape(i, garbage()), TEXTS[i % TEXTS.length]!(i)];
    const start = cpuTime();
    valid += isPattern(pattern) ? 1 : 0;
    matchesPattern(pattern, text);
    const took = cpuTime() - start;
    total += took;
    worst = Math.max(worst, took);
    await nextTurn();
  }
  t.diagnostic(`worst ${worst.toFixed(2)} ms, mean ${(total / 1000).toFixed(3)} ms, ${valid} are patterns`);
  t.diagnostic(
    `the loop stood still for ${(delays.histogram.max / 1e6).toFixed(1)} ms at most; all that a token may cost: ${unit.toFixed(1)} ms`,
  );
  assert.ok(valid > 200 && valid < 1000);
  // The aim is 10 ms. The asserted limit holds on any machine, but not for a backtracking engine.
  assert.ok(worst < Math.max(50, 2 * unit), `${worst} ms`);
  assert.ok(total / 1000 < Math.max(5, unit / 4), `${total / 1000} ms`);
});

test("all patterns of an identity together stay within the time limit of one token", (t) => {
  const pattern = `(?:.?){70}Z|${"a".repeat(20)}.*`;
  parsePattern("pattern", pattern);
  const made = t.mock.method(RE2JS.prototype, "matches").mock;
  const matching = createMatching();
  const start = cpuTime();
  let matched = 0;
  for (let i = 0; i < 100_000; i++) matched += matching(pattern, "a".repeat(512)) ? 1 : 0;
  const took = cpuTime() - start;
  t.diagnostic(`100,000 matches asked for, ${matched} made, in ${took.toFixed(1)} ms of CPU time`);
  assert.ok(matched < 100);
  // In instructions times characters.
  const work = made.callCount() * RE2JS.compile(pattern).programSize() * 513;
  assert.ok(work <= 2_000_000, `${work}`);
});

function costOfAll(): number {
  const pattern = "(?:.?){140}Z";
  const matching = createMatching();
  const start = cpuTime();
  for (let i = 0; i < 1000; i++) matching(pattern, "a".repeat(512));
  return cpuTime() - start;
}

function isPattern(text: string): boolean {
  try {
    parsePattern("pattern", text);
    return true;
  } catch (error) {
    if (error instanceof HoltError) return false;
    throw error;
  }
}

function enabled(histogram: ReturnType<typeof monitorEventLoopDelay>) {
  histogram.enable();
  return { histogram, [Symbol.dispose]: () => void histogram.disable() };
}
