/** The client against a real server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescService } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { HoltError as ServerError } from "../../server/src/lib/errors.ts";
import { startTransports } from "../../server/test/harness/transport-server.ts";
import { startWorld } from "../../server/test/harness/world.ts";
import { type CallRecord, cached, createClient, exchangedToken, fixedToken, HoltError, type Token } from "../src/index.ts";
import { createRest } from "../src/rest.ts";
import { servicesOfHolt, servicesV1, servicesV2 } from "../src/services.ts";
import { serve } from "./serve.ts";

test("the client has every service of the contract once", () => {
  const resources: object[] = [...Object.values(servicesV2), ...Object.values(servicesV1), servicesOfHolt];
  const known = resources.flatMap((byName): DescService[] => Object.values(byName));
  assert.deepEqual(known.map(({ typeName }) => typeName).sort(), services.map(({ typeName }) => typeName).sort());
});

test("calls are typed by the contract and reach a server in all versions", async () => {
  await using world = await startWorld();
  const client = createClient({ baseUrl: world.baseUrl, token: fixedToken(world.token) });
  const group = await client.iam.groups.createGroup({ parent: world.orgUid, group: { name: "made-by-client" } });
  assert.equal((await client.iam.groups.getGroup({ uid: group.uid })).name, "made-by-client");
  assert.equal((await client.v1.auth.auth.validate({})).subject, world.owner.uid);
  assert.ok((await client.holt.events.listEvents({ parent: world.orgUid })).events.length > 0);
  assert.equal((await createClient({ baseUrl: world.baseUrl }).ping.ping.ping({})).response, "pong");
});

test("listAll walks through all pages in order, and ends where the caller ends", async () => {
  await using world = await startWorld();
  const calls: CallRecord[] = [];
  const client = createClient({ baseUrl: world.baseUrl, token: fixedToken(world.token), onCall: (call) => calls.push(call) });
  const names = Array.from({ length: 7 }, (_, number) => `folder-${number}`);
  for (const name of names) await client.iam.groups.createGroup({ parent: world.orgUid, group: { name } });
  const request = { uidp: { childrenOf: world.orgUid }, orderBy: "name", pageSize: 3 };
  calls.length = 0;
  const found: string[] = [];
  for await (const { name } of client.iam.groups.listAll(request)) found.push(name);
  assert.deepEqual(found, names);
  assert.equal(calls.length, 3);
  for await (const { name } of client.iam.groups.listAll(request)) if (name === "folder-1") break;
  assert.equal(calls.length, 4);
  assert.ok(!("listAll" in client.iam.terms), "a list without pages has no listAll");
});

test("an error carries what the server said as data", async () => {
  await using world = await startWorld();
  const client = createClient({ baseUrl: world.baseUrl, token: fixedToken(world.token) });
  const wrong = await refusal(client.iam.groups.createGroup({ parent: world.orgUid, group: { name: "" } }));
  assert.equal(wrong.code, "INVALID_ARGUMENT");
  assert.equal(wrong.reason, "INVALID_ARGUMENT");
  assert.deepEqual(
    wrong.fieldViolations.map(({ field }) => field),
    ["name"],
  );
  assert.match(wrong.requestId, /^[0-9a-f-]{36}$/);
  const missing = await refusal(client.iam.groups.getGroup({ uid: "0".repeat(40) }));
  assert.equal(missing.code, "NOT_FOUND");
  assert.equal(missing.resource?.name, "0".repeat(40));
  const anonymous = await refusal(createClient({ baseUrl: world.baseUrl }).iam.groups.listGroups({}));
  assert.equal(anonymous.code, "UNAUTHENTICATED");
});

test("a caller can end a call, and a deadline ends it, too", async () => {
  await using server = await startTransports({ run: () => new Promise(() => {}) });
  const client = createClient({ baseUrl: `http://127.0.0.1:${server.port}` });
  const leaving = new AbortController();
  const call = refusal(client.iam.groups.getGroup({ uid: "u" }, { signal: leaving.signal }));
  leaving.abort();
  assert.equal((await call).code, "CANCELED");
  assert.equal((await refusal(client.iam.groups.getGroup({ uid: "u" }, { timeoutMs: 20 }))).code, "DEADLINE_EXCEEDED");
});

test("calls that only read are repeated after the pause that the server asks for, and writes are not", async () => {
  let refusals = 2;
  await using server = await startTransports({
    run: async (operation) => {
      if (refusals-- > 0) throw new ServerError(8 as never, "too busy", { retryAfterSeconds: 7 });
      return create(operation.method.output, { uid: "answered" } as never);
    },
  });
  const pauses: number[] = [];
  const sleep = async (ms: number) => void pauses.push(ms);
  const client = createClient({ baseUrl: `http://127.0.0.1:${server.port}`, retry: { sleep } });
  assert.equal((await client.iam.groups.getGroup({ uid: "u" })).uid, "answered");
  assert.deepEqual(pauses, [7000, 7000]);
  refusals = 9;
  assert.equal((await refusal(client.iam.groups.deleteGroup({ uid: "u" }))).code, "RESOURCE_EXHAUSTED");
  assert.equal(pauses.length, 2, "a write is not repeated");
  assert.equal((await refusal(client.iam.groups.getGroup({ uid: "u" }))).retryDelayMs, 7000);
  assert.equal(pauses.length, 5, "the fourth attempt is the last");
});

test("a server that is down is UNAVAILABLE", async () => {
  const closed = await serve(() => {});
  await closed[Symbol.asyncDispose]();
  const client = createClient({ baseUrl: closed.baseUrl, retry: { attempts: 1 } });
  assert.equal((await refusal(client.ping.ping.ping({}))).code, "UNAVAILABLE");
});

test("another issuer's token is exchanged once for many calls, and again before the result expires", async () => {
  await using world = await startWorld();
  const { uid } = await world.robot(world.orgUid, []);
  let proofs = 0;
  const subject = async (): Promise<Token> => {
    proofs++;
    return { token: await world.robotProof(), expiry: undefined };
  };
  const token = exchangedToken(subject, { baseUrl: world.baseUrl, identity: uid });
  const client = createClient({ baseUrl: world.baseUrl, token });
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.v1.auth.auth.validate({})));
  assert.ok(answers.every(({ subject: caller }) => caller === uid));
  assert.equal(proofs, 1);
});

test("a cached token is renewed before it expires, by one renewal for all callers, and a failure is not kept", async () => {
  let time = 0;
  let made = 0;
  let isFailing = false;
  const source = cached(
    async () => {
      if (isFailing) throw new Error("the issuer is down");
      made++;
      return { token: `token ${made}`, expiry: new Date(time + 600_000) };
    },
    { now: () => new Date(time) },
  );
  const texts = async (count: number) => (await Promise.all(Array.from({ length: count }, () => source()))).map(({ token }) => token);
  assert.deepEqual(await texts(3), ["token 1", "token 1", "token 1"]);
  time = 530_000;
  assert.deepEqual(await texts(1), ["token 1"]);
  time = 541_000;
  assert.deepEqual(await texts(3), ["token 2", "token 2", "token 2"]);
  time = 2_000_000;
  isFailing = true;
  await assert.rejects(source(), /the issuer is down/);
  isFailing = false;
  assert.deepEqual(await texts(1), ["token 3"]);
});

test("a malformed URL of a server is refused before the first call", () => {
  const malformed = ["", "localhost:8080", "holt.example.com", "https://", "ftp://x", "https://x?a=b", "https://x#a", "https://u:p@x"];
  for (const baseUrl of [...malformed, undefined as unknown as string]) {
    const refused = { name: "TypeError", message: /^baseUrl must be the URL of a server/ };
    assert.throws(() => createClient({ baseUrl }), refused, baseUrl);
    assert.throws(() => createRest({ baseUrl }), refused, baseUrl);
    assert.throws(() => exchangedToken(fixedToken("t"), { baseUrl }), refused, baseUrl);
  }
  for (const baseUrl of ["http://localhost:8080", "https://holt.example.com/", "https://example.com/holt"]) createClient({ baseUrl });
});

test("a call ends at its deadline also while its token is renewed", async () => {
  const token = cached(() => new Promise(() => {}));
  const client = createClient({ baseUrl: "http://127.0.0.1:1", token, timeoutMs: 20 });
  for (let i = 0; i < 2; i++) assert.equal((await refusal(client.iam.groups.getGroup({ uid: "u" }))).code, "DEADLINE_EXCEEDED");
});

test("a renewal that takes too long fails, and the next caller starts another", async () => {
  const answers = [new Promise<Token>(() => {}), { token: "t", expiry: undefined }];
  const source = cached(async () => answers.shift() ?? assert.fail("too many renewals"), { timeoutMs: 1 });
  await assert.rejects(source(), { name: "TimeoutError" });
  assert.equal((await source()).token, "t");
});

async function refusal(call: Promise<unknown>): Promise<HoltError> {
  const error = await call.then(
    () => assert.fail("the call was answered"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HoltError, String(error));
  return error;
}
