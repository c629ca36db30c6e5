/** Issuers whose answers are slow to read. One request to an issuer must cost the main thread little CPU time. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { part } from "../harness/forged-tokens.ts";
import { isCheap } from "../harness/robustness/cost-checks.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { startWorld, type World } from "../harness/world.ts";

/** Other work of the server and of the machine disturbs a measurement, but not each time. */
const ATTEMPTS = 4;
const MIB = 1024 * 1024;

let world: World;
let client: MeteredClient;
before(async () => {
  world = await startWorld();
  client = startMeteredClient(world.baseUrl, world.token);
});
after(async () => {
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** Lets the server fetch the keys of an issuer, to verify a token. @returns the CPU time */
async function fetchKeys(issuer: string): Promise<number> {
  const made = await world.raw("POST", `/iam/v2/identities/${world.orgUid}`, { name: "robot", claimMatch: { issuer, subject: "x" } });
  const { uid } = JSON.parse(made.text) as { uid: string };
  const exp = world.clock.now().getTime() / 1000 + 600;
  const token = `${part({ alg: "RS256", kid: "a" })}.${part({ iss: issuer, sub: "x", exp })}.AAAA`;
  const { status, text, cpuMs } = await client.send({
    ...{ method: "POST", path: `/sts/exchange?identity=${uid}` },
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(status, 503, text);
  return cpuMs;
}

const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n`;
/** Just less than the limit of headers, so that those after it are beyond the limit. */
const LARGE_HEADER = `a: ${"x".repeat(16_370)}\r\n`;

const ANSWERS: Readonly<Record<string, string>> = {
  "many headers": OK + LARGE_HEADER + "a:\r\n".repeat(50_000),
  "many trailers": CHUNKED + LARGE_HEADER + "a:\r\n".repeat(50_000),
  "many interim responses": "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(MIB / 16),
  "a long reason phrase": `HTTP/1.1 200 ${"x".repeat(32 * MIB)}`,
  "many empty lines before it": "\r\n".repeat(16 * MIB),
  "many spaces in a header": `${OK}a:${" ".repeat(32 * MIB)}`,
  "a long chunk extension": `${OK}transfer-encoding: chunked\r\n\r\n2;${"x".repeat(32 * MIB)}`,
};

for (const [name, answer] of Object.entries(ANSWERS)) {
  test(`an answer of an issuer with ${name} costs the main thread little`, async () => {
    const origin = await client.serveBytes(Buffer.from(answer));
    // The first request to an issuer loads the HTTP client.
    await fetchKeys(`${origin}/first`);
    let cpuMs = Number.POSITIVE_INFINITY;
    // Each issuer is asked once, because its failure is remembered.
    for (let i = 0; i < ATTEMPTS && !isCheap(cpuMs); i++) cpuMs = Math.min(cpuMs, await fetchKeys(`${origin}/${i}`));
    assert.ok(isCheap(cpuMs), `${cpuMs.toFixed()} ms of CPU time`);
  });
}
