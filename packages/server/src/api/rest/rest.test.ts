import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientRequest, createServer as createHttp1, request as http1Request, type IncomingMessage } from "node:http";
import { connect, constants, createServer as createHttp2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { contractOperations } from "../../../test/harness/contract-operations.ts";
import { until } from "../../../test/harness/wait.ts";
import { createCallerSlots } from "../../http/caller-slots.ts";
import { RequestMemory } from "../../http/request-memory.ts";
import { defaultLimits } from "../../http/transport-limits.ts";
import { systemClock } from "../../lib/clock.ts";
import {
  alreadyExists,
  failedPrecondition,
  internal,
  invalidArgument,
  notFound,
  permissionDenied,
  resourceExhausted,
  unauthenticated,
} from "../../lib/errors.ts";
import { createLog } from "../../lib/log.ts";
import { vendorProfiles } from "../../lib/vendor-profile.ts";
import { type CallMetadata, JsonText, StreamedText } from "../call/call.ts";
import type { Run } from "../call/run.ts";
import { UnservedCalls } from "../call/unserved-calls.ts";
import { createRestHandler } from "./rest.ts";

const LIMIT = 4096;
const errors: Record<string, () => Error> = {
  invalid: () => invalidArgument("name", 'name must match "^x$"'),
  missing: () => notFound("Group", "a/b"),
  exists: () => alreadyExists("Group", "a/b", "there is a group of this name"),
  denied: () => permissionDenied("groups.list is needed", { capability: "groups.list" }),
  blocked: () => failedPrecondition("RESOURCE_NOT_EMPTY", "cannot delete group with child repos"),
  busy: () => resourceExhausted("too many calls", 1.5),
  anonymous: () => unauthenticated("no token"),
  secret: () => internal(new Error("the password is x")),
  bug: () => new TypeError("the password is x"),
};

let seen: CallMetadata | undefined;
let aborted: Promise<unknown> | undefined;

const run: Run = async (operation, source, metadata) => {
  seen = metadata;
  const { uid = "" } = (await source()) as unknown as { uid?: string };
  if (uid === "wait") {
    aborted = once(metadata.signal, "abort");
    await aborted;
  }
  if (uid === "broken") return new StreamedText(GroupSchema, brokenChunks());
  if (errors[uid] !== undefined) throw errors[uid]();
  if (uid === "text") return new JsonText(GroupSchema, '{"uid":"as it is"}');
  if (operation.method.output.typeName === EmptySchema.typeName) return create(EmptySchema);
  return create(operation.method.output, { uid } as never);
};

async function* brokenChunks(): AsyncGenerator<string> {
  yield '{"uid":"';
  throw new Error("the rest of the reply");
}

const profile = vendorProfiles.get("chainguard");
assert.ok(profile);
const handler = createRestHandler({
  operations: contractOperations,
  run,
  profile,
  memory: new RequestMemory({ ...defaultLimits, messageBytes: LIMIT, anonymousMessageBytes: LIMIT }),
  log: createLog("silent"),
  unserved: new UnservedCalls(createLog("silent"), systemClock),
  callerSlots: createCallerSlots(1),
});
const http1 = createHttp1((request, response) => void handler(request, response));
const http2 = createHttp2((request, response) => void handler(request, response));

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port;
}

before(async () => {
  for (const server of [http1, http2]) await once(server.listen(0, "127.0.0.1"), "listening");
});
after(() => {
  http1.closeAllConnections();
  http1.close();
  http2.close();
});

function call(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${portOf(http1)}${path}`, init);
}

async function failure(uid: string): Promise<{ status: number; headers: Headers; body: unknown }> {
  const response = await call(`/iam/v2/groups/${uid}`);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

const info = (reason: string, metadata?: object) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "iam.chainguard.dev",
  ...(metadata && { metadata }),
});

describe("a REST reply", () => {
  it("a REST reply has status 200 and the message as JSON", async () => {
    const response = await call("/iam/v2/groups/a/b");
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    const text = await response.text();
    assert.equal(response.headers.get("content-length"), String(Buffer.byteLength(text)));
    assert.equal(JSON.parse(text).uid, "a/b");
  });

  it("a REST reply that is JSON text already is sent unchanged", async () => {
    assert.equal(await (await call("/iam/v2/groups/text")).text(), '{"uid":"as it is"}');
  });

  it("a REST reply that is an empty message has no body in v2, and {} in v1", async () => {
    const v2 = await call("/iam/v2/groups/a", { method: "DELETE" });
    assert.deepEqual([v2.status, await v2.text(), v2.headers.get("content-length")], [200, "", "0"]);
    const v1 = await call("/auth/v1/delete/a", { method: "DELETE" });
    assert.deepEqual([v1.status, await v1.text()], [200, "{}"]);
  });

  it("a REST reply to HEAD equals the reply to GET without the body", async () => {
    const response = await call("/iam/v2/groups/a", { method: "HEAD" });
    const full = await call("/iam/v2/groups/a");
    assert.equal(response.headers.get("content-length"), full.headers.get("content-length"));
    assert.equal(await response.text(), "");
  });

  it("a REST reply has the client's request id if it is safe, else a new one", async () => {
    const idFor = async (headers: Record<string, string>) => (await call("/ping/v2/ping", { headers })).headers.get("x-request-id");
    assert.equal(await idFor({ cgrequestid: "abc-1" }), "abc-1");
    assert.equal(await idFor({ "x-request-id": "abc-2" }), "abc-2");
    for (const bad of ["x".repeat(65), "a b", ""]) assert.match((await idFor({ cgrequestid: bad })) ?? "", /^[0-9a-f-]{36}$/);
  });
});

describe("a REST error", () => {
  it("a REST error names the field and its violation", async () => {
    const { status, body } = await failure("invalid");
    assert.equal(status, 400);
    const violation = { field: "name", description: 'name must match "^x$"' };
    const details = [info("INVALID_ARGUMENT"), { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: [violation] }];
    assert.deepEqual(body, { code: 3, message: 'Invalid argument: name: name must match "^x$"', details });
  });

  it("a REST error names the resource", async () => {
    const resource = {
      "@type": "type.googleapis.com/google.rpc.ResourceInfo",
      resourceType: "iam.chainguard.dev/Group",
      resourceName: "a/b",
    };
    const { status, body } = await failure("missing");
    assert.deepEqual([status, body], [404, { code: 5, message: 'Not found: Group "a/b"', details: [info("NOT_FOUND"), resource] }]);
    assert.equal((await failure("exists")).status, 409);
  });

  it("a REST error names the condition that is not met", async () => {
    const violation = { type: "RESOURCE_NOT_EMPTY", description: "cannot delete group with child repos" };
    const details = [
      info("FAILED_PRECONDITION"),
      { "@type": "type.googleapis.com/google.rpc.PreconditionFailure", violations: [violation] },
    ];
    const { status, body } = await failure("blocked");
    assert.deepEqual([status, body], [400, { code: 9, message: "Precondition failed: cannot delete group with child repos", details }]);
  });

  it("a REST error has the status and headers of its code, such as www-authenticate and retry-after", async () => {
    const denied = await failure("denied");
    assert.deepEqual(
      [denied.status, (denied.body as { details: unknown }).details],
      [403, [info("PERMISSION_DENIED", { capability: "groups.list" })]],
    );
    const anonymous = await failure("anonymous");
    assert.equal(anonymous.status, 401);
    assert.match(anonymous.headers.get("www-authenticate") ?? "", /^Bearer\b/);
    const busy = await failure("busy");
    assert.deepEqual([busy.status, busy.headers.get("retry-after")], [429, "2"]);
    const retry = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.500s" };
    assert.deepEqual((busy.body as { details: unknown }).details, [info("RESOURCE_EXHAUSTED"), retry]);
  });

  it("a REST error that is unexpected reveals nothing", async () => {
    for (const uid of ["secret", "bug"]) {
      const { status, body } = await failure(uid);
      assert.deepEqual([status, body], [500, { code: 13, message: "Internal error", details: [] }]);
    }
  });

  it("a REST reply that cannot be completed breaks off over HTTP/1.1 and HTTP/2, and reads as incomplete", async () => {
    await assert.rejects(call("/iam/v2/groups/broken").then((answer) => answer.text()));
    const session = connect(`http://127.0.0.1:${portOf(http2)}`);
    const stream = session.request({ ":path": "/iam/v2/groups/broken" });
    await assert.rejects(stream.toArray(), { code: "ERR_HTTP2_STREAM_ERROR" });
    session.close();
    assert.equal((await call("/iam/v2/groups/broken", { method: "HEAD" })).status, 200);
  });

  it("a REST error distinguishes a wrong method from an unknown path", async () => {
    const wrong = await call("/iam/v2/groups/a", { method: "PUT" });
    assert.deepEqual([wrong.status, await wrong.text()], [405, '{"code":12,"message":"Method Not Allowed","details":[]}']);
    assert.equal(wrong.headers.get("allow"), "DELETE, GET, HEAD, PATCH, POST");
    const unknown = await call("/iam/v9/groups");
    assert.deepEqual([unknown.status, await unknown.text()], [404, '{"code":5,"message":"Not Found","details":[]}']);
    assert.ok(unknown.headers.get("x-request-id"));
    assert.equal(unknown.headers.get("link"), '</docs>; rel="help"');
  });

  it("a REST request of a browser for an unknown path is answered with a page that links to the documents", async () => {
    const page = await call("/nothing", { headers: { accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
    assert.equal(page.status, 404);
    assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'/);
    assert.match(await page.text(), /href="\/docs"/);
  });

  it("a REST reply names the ignored parts of the request in a Warning header", async () => {
    const query = await call("/iam/v2/groups?nmae=x");
    assert.equal(query.status, 200);
    assert.equal(query.headers.get("warning"), '299 - "ignored unknown query parameter nmae; did you mean \\"name\\"?"');
    const body = await call("/iam/v2/groups", { method: "POST", body: '{"name":"a","nmae":"b"}' });
    assert.equal(body.headers.get("warning"), '299 - "ignored unknown field nmae"');
    assert.equal((await call("/iam/v2/groups?name=x")).headers.get("warning"), null);
  });

  it("a REST error of an unreadable request is a client error", async () => {
    const response = await call("/iam/v2/groups", { method: "POST", body: '{"name":5}' });
    const { code, message } = (await response.json()) as { code: number; message: string };
    assert.deepEqual([response.status, code, message], [400, 3, "Invalid argument: name: must be a string, not 5"]);
  });
});

describe("a REST body over the limit", () => {
  const tooLarge = async (request: ClientRequest): Promise<[number | undefined, number]> => {
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const text = (await response.setEncoding("utf8").toArray()).join("");
    return [response.statusCode, JSON.parse(text).code];
  };
  const post = (headers: Record<string, string | number>): ClientRequest =>
    http1Request({ port: portOf(http1), host: "127.0.0.1", path: "/iam/v2/groups", method: "POST", headers }).on("error", () => {});

  it("a REST body over the limit is refused by its announced length, before it is sent", async () => {
    const request = post({ "content-length": LIMIT + 1 });
    request.flushHeaders();
    assert.deepEqual(await tooLarge(request), [413, 8]);
    request.destroy();
  });

  it("a REST body over the limit is refused by its actual length", async () => {
    const request = post({ "transfer-encoding": "chunked" });
    request.write("x".repeat(LIMIT));
    request.end("x");
    assert.deepEqual(await tooLarge(request), [413, 8]);
  });

  it("a REST body over the limit is not refused at exactly the limit", async () => {
    const body = '{"name":"a"}'.padEnd(LIMIT);
    assert.equal((await call("/iam/v2/groups", { method: "POST", body })).status, 200);
  });
});

describe("a REST call", () => {
  it("a REST call has the metadata of its client's headers, and the alias", async () => {
    await call("/iam/v2beta1/groups/a", { headers: { authorization: "Bearer x", cgclientid: "tool", "user-agent": "tool/1" } });
    assert.deepEqual(
      [seen?.protocol, seen?.authorization, seen?.clientId, seen?.userAgent, seen?.remoteAddress, seen?.alias],
      ["rest", "Bearer x", "tool", "tool/1", "127.0.0.1", "v2beta1"],
    );
    assert.equal(seen?.signal.aborted, false);
  });

  it("a REST call is aborted when its client disconnects", async () => {
    const controller = new AbortController();
    const response = call("/iam/v2/groups/wait", { signal: controller.signal });
    await until(() => aborted !== undefined);
    controller.abort();
    await assert.rejects(response);
    await aborted;
  });

  it("a REST call over HTTP/2 is aborted when its client resets the stream", async () => {
    const session = connect(`http://127.0.0.1:${portOf(http2)}`);
    aborted = undefined;
    const stream = session.request({ ":path": "/iam/v2/groups/wait" }).on("error", () => {});
    await until(() => aborted !== undefined);
    stream.close(constants.NGHTTP2_CANCEL);
    await aborted;
    session.close();
  });

  it("a REST call works over HTTP/2, with and without a body", async () => {
    const session = connect(`http://127.0.0.1:${portOf(http2)}`);
    const exchange = async (method: string, path: string, body?: string): Promise<[unknown, string]> => {
      const stream = session.request({ ":method": method, ":path": path }, { endStream: body === undefined });
      if (body !== undefined) stream.end(body);
      const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
      return [headers[":status"], (await stream.setEncoding("utf8").toArray()).join("")];
    };
    assert.equal((await exchange("GET", "/iam/v2/groups/a"))[0], 200);
    assert.deepEqual(await exchange("HEAD", "/iam/v2/groups/a"), [200, ""]);
    assert.equal((await exchange("POST", "/iam/v2/groups/a", '{"name":"x"}'))[0], 200);
    assert.equal((await exchange("POST", "/iam/v2/groups/a"))[0], 200);
    assert.equal((await exchange("POST", "/iam/v2/groups/a", "x".repeat(LIMIT + 1)))[0], 413);
    assert.deepEqual(await exchange("DELETE", "/iam/v2/groups/a"), [200, ""]);
    session.close();
  });
});
