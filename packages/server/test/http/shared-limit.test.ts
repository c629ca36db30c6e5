/** HOLT_MAX_CONCURRENT_CALLS is one limit for the calls of the contract and for the requests of all other protocols. */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import type { HttpAnswer } from "../harness/clients.ts";
import { startServer, type TestServer } from "../harness/harness.ts";
import { openSocket, untilClosed } from "../harness/raw-clients.ts";
import { until } from "../harness/wait.ts";

const UID = "a".repeat(40);
const FORM = "application/x-www-form-urlencoded";

describe("while a call and a push of a manifest to the registry hold both slots", () => {
  let server: TestServer;
  let call: Socket;
  let push: Socket;

  /** Sends all of a request but the last byte of its body. */
  function holdRequest(method: string, target: string): Socket {
    const socket = openSocket(server.port);
    const headers = ["host: h", `authorization: Bearer ${server.token}`, "connection: close", "content-length: 2"];
    socket.write(`${method} ${target} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n{`);
    return socket;
  }

  before(async () => {
    server = await startServer({ env: { HOLT_MAX_CONCURRENT_CALLS: "2" } });
    call = holdRequest("POST", `/iam/v2/groups/${server.orgUid}`);
    push = holdRequest("PUT", "/v2/my-org/held/manifests/latest");
    await until(async () => (await server.http("GET", "/ping/v2/ping")).status === 429);
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

  test("both slots are free again once the held requests are answered", async () => {
    call.write("}");
    push.write("}");
    assert.match(await untilClosed(call), /^HTTP\/1\.1 400 /);
    assert.match(await untilClosed(push), /^HTTP\/1\.1 400 .*MANIFEST_INVALID/s);
    for (let i = 0; i < 3; i++) assert.equal((await server.http("GET", "/v2/")).status, 200);
    assert.equal((await server.http("GET", "/ping/v2/ping")).status, 200);
  });
});
