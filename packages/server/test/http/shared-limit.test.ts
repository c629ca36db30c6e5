/** HOLT_MAX_CONCURRENT_CALLS is one limit for the calls of the contract and for the requests of all other protocols. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { type ConcurrencyLimit, createCallLimit } from "../../src/jobs/limit.ts";
import { Code } from "../../src/lib/errors.ts";
import type { HttpAnswer } from "../harness/clients.ts";
import { startServer, type TestServer } from "../harness/harness.ts";

const UID = "a".repeat(40);
const FORM = "application/x-www-form-urlencoded";

test("HOLT_MAX_CONCURRENT_CALLS is the size of the limit", async () => {
  const limit = createCallLimit(2);
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const works = ends.map(({ promise }) => limit.run(() => promise));
  await assert.rejects(
    limit.run(async () => {}),
    { code: Code.RESOURCE_EXHAUSTED },
  );
  for (const { resolve } of ends) resolve();
  await Promise.all(works);
  await limit.run(async () => {});
});

describe("while all slots are held", () => {
  let server: TestServer;
  let holders: Promise<void>;
  const free = Promise.withResolvers<void>();
  const slots = createCallLimit(2);
  let runs = 0;
  const callLimit: ConcurrencyLimit = {
    take() {
      runs++;
      return slots.take();
    },
    run(work) {
      runs++;
      return slots.run(work);
    },
  };

  before(async () => {
    server = await startServer({ callLimit });
    holders = Promise.all([1, 2].map(() => slots.run(() => free.promise))).then(() => {});
  });
  after(() => server[Symbol.asyncDispose]());

  async function assertRefused(method: string, path: string, body?: string): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${server.token}`, ...(body !== undefined && { "content-type": FORM }) };
    const answer = await server.http(method, path, body, headers);
    assert.equal(answer.status, 429, answer.text);
    assert.equal(answer.headers["retry-after"], "1");
    return answer;
  }

  test("a REST call is refused with google.rpc.Status", async () => {
    const { text } = await assertRefused("GET", "/ping/v2/ping");
    assert.equal(JSON.parse(text).code, Code.RESOURCE_EXHAUSTED);
  });

  test("a gRPC call is refused with RESOURCE_EXHAUSTED", async () => {
    const outcome = await server.grpc.call(PingService.method.ping, {}, undefined);
    assert.equal(outcome.ok ? undefined : outcome.error.code, Code.RESOURCE_EXHAUSTED);
  });

  test("a request to the registry is refused with TOOMANYREQUESTS", async () => {
    const { text, headers } = await assertRefused("GET", "/v2/");
    assert.equal(JSON.parse(text).errors[0].code, "TOOMANYREQUESTS");
    assert.equal(headers["www-authenticate"], undefined);
  });

  test("a request for a registry token is refused with TOOMANYREQUESTS, whether it is a GET or a form", async () => {
    for (const { text } of [await assertRefused("GET", "/token"), await assertRefused("POST", "/token", "grant_type=password")])
      assert.equal(JSON.parse(text).errors[0].code, "TOOMANYREQUESTS");
  });

  test("a request to a library is refused with a sentence", async () => {
    const { text, headers } = await assertRefused("GET", "/libraries/python/my-org/simple/");
    assert.equal(headers["content-type"], "text/plain; charset=utf-8");
    assert.match(text, /limit of concurrent calls/);
  });

  test("a SCIM request is refused with a SCIM error", async () => {
    const { text } = await assertRefused("GET", `/scim/v2/${UID}/${"0".repeat(16)}/Users`);
    assert.deepEqual(JSON.parse(text).schemas, ["urn:ietf:params:scim:api:messages:2.0:Error"]);
    assert.equal(JSON.parse(text).status, "429");
  });

  test("a request for a feed is refused with google.rpc.Status", async () => {
    const { text } = await assertRefused("GET", `/holt/v1/feeds/${UID}`);
    assert.equal(JSON.parse(text).code, Code.RESOURCE_EXHAUSTED);
  });

  test("a browser that signs in is refused with a page", async () => {
    const { text, headers } = await assertRefused("GET", "/oauth");
    assert.equal(headers["content-type"], "text/html; charset=utf-8");
    assert.match(text, /role="alert">The server is at its limit of concurrent calls/);
  });

  test("a device that polls for its token is refused with an OAuth error", async () => {
    const { text } = await assertRefused("POST", "/oauth/token", "grant_type=x");
    assert.equal(JSON.parse(text).error, "temporarily_unavailable");
  });

  test("the readiness probe is answered", async () => {
    assert.equal((await server.http("GET", "/readyz")).status, 200);
  });

  test("requests that are answered give their slots back, and refused ones take none", async () => {
    free.resolve();
    await holders;
    const before = runs;
    const create = () => server.http("POST", `/iam/v2/groups/${server.orgUid}`, "{}");
    const push = () => server.http("PUT", "/v2/my-org/held/manifests/latest", "{}");
    for (let i = 0; i < 3; i++) {
      assert.equal((await create()).status, 400);
      assert.match((await push()).text, /MANIFEST_INVALID/);
      assert.equal((await server.http("GET", "/ping/v2/ping")).status, 200);
    }
    assert.ok(runs >= before + 9);
  });
});
