/** Identity providers of organizations whose answers are large, or slow to parse. A sign-in must cost little CPU time and memory. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { part } from "../harness/forged-tokens.ts";
import { isCheap } from "../harness/robustness/cost-checks.ts";
import { collectGarbage } from "../harness/robustness/garbage.ts";
import { fill } from "../harness/robustness/hostile-documents.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const MIB = 1024 * 1024;
/** Just less than the largest answer that the server reads. */
const MAX_ANSWER = MIB - 1000;
/** Other work of the server and of the machine disturbs a measurement, but not each time. */
const ATTEMPTS = 4;
/** Answers of a provider that a sign-in parses: its discovery document, its tokens and the person's information. */
const ANSWERS = 3;

let world: World;
let client: MeteredClient;
let defaultRole: string;
before(async () => {
  world = await startWorld();
  client = startMeteredClient(world.baseUrl, world.token);
  defaultRole = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
});
after(async () => {
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});

/** JSON values that take much time or memory when they are parsed. */
const values: Readonly<Record<string, (bytes: number) => string>> = {
  "empty objects": (bytes) => fill(bytes, "{},", "[", "{}]"),
  names: (bytes) => fill(bytes, (i) => `"a${i}":1,`, "{", '"a":1}'),
  "deep lists": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
};

/** @param extra a member that no sign-in needs @param tokens the answer of its token endpoint @returns the path that starts a sign-in */
async function startProvider(name: string, { extra = "1", tokens = "" }): Promise<string> {
  const path = `/${name.replaceAll(" ", "-")}`;
  const endpoints = { authorization_endpoint: `{origin}${path}/authorize`, token_endpoint: `{origin}${path}/token` };
  const document = JSON.stringify({ issuer: `{origin}${path}`, ...endpoints, jwks_uri: `{origin}${path}/keys`, extra: "EXTRA" });
  const origin = await client.serve({
    [`${path}/.well-known/openid-configuration`]: document.replace('"EXTRA"', () => extra),
    [`${path}/token`]: tokens,
  });
  const oidc = { issuer: origin + path, clientId: "holt", clientSecret: "a secret" };
  const identityProvider = { name: path.slice(1), defaultRole, configuration: { case: "oidc", value: oidc } } as const;
  const { uid } = await world.must(IdentityProvidersService.method.createIdentityProvider, { parent: world.orgUid, identityProvider });
  return `/oauth?idp_id=${uid}`;
}

/** @returns the headers and the path of the request with which a browser comes back from the provider */
async function walkToCallback(start: string): Promise<{ readonly path: string; readonly headers: Readonly<Record<string, string>> }> {
  const response = await fetch(world.baseUrl + start, { redirect: "manual" });
  const state = new URL(response.headers.get("location") ?? "").searchParams.get("state");
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(";", 1)[0])
    .join("; ");
  return { path: `/oauth/callback?code=code&state=${state}`, headers: { cookie } };
}

/** @param next the path and the headers of a request that the server refuses, because the provider does not answer as it should */
async function assertRefusedCheaply(what: string, next: () => ReturnType<typeof walkToCallback>): Promise<void> {
  let bestMs = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ATTEMPTS && !isCheap(ANSWERS * bestMs); i++) {
    const { status, text, cpuMs } = await client.send({ method: "GET", ...(await next()) });
    assert.equal(status, 502, text);
    bestMs = Math.min(bestMs, cpuMs);
  }
  assert.ok(isCheap(ANSWERS * bestMs), `${what}: ${bestMs.toFixed()} ms of CPU time`);
}

test("no discovery document of an identity provider makes a sign-in cost the main thread much", async () => {
  for (const [name, generate] of Object.entries(values)) {
    const path = await startProvider(`document of ${name}`, { extra: generate(MAX_ANSWER) });
    await assertRefusedCheaply(name, async () => ({ path, headers: {} }));
  }
});

test("no answer with tokens of an identity provider makes a sign-in cost the main thread much", async () => {
  const tokensOf = (payload: string) => {
    const idToken = `${part({ alg: "RS256" })}.${Buffer.from(payload).toString("base64url")}.AAAA`;
    return `{"access_token":"a","token_type":"Bearer","id_token":"${idToken}"}`;
  };
  for (const [name, generate] of Object.entries(values)) {
    const answers = { "an answer": generate(MAX_ANSWER), "a token": tokensOf(`{"extra":${generate(0.7 * MAX_ANSWER)}}`) };
    for (const [kind, tokens] of Object.entries(answers)) {
      const start = await startProvider(`${kind} of ${name}`, { tokens });
      await assertRefusedCheaply(`${kind} of ${name}`, () => walkToCallback(start));
    }
  }
});

test("many identity providers with large discovery documents take little memory", async () => {
  const before = usedMb();
  for (let i = 0; i < 30; i++) {
    const path = await startProvider(`large-${i}`, { extra: `"${"x".repeat(MAX_ANSWER)}"` });
    const { status } = await fetch(world.baseUrl + path, { redirect: "manual" });
    assert.equal(status, 303);
    // The client's thread serves the document, so it must not count.
    await client.serve({ [`/large-${i}/.well-known/openid-configuration`]: "" });
  }
  // Some buffers are free only after a further turn.
  await until(() => usedMb() - before < 10);
});

function usedMb(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MIB;
}
