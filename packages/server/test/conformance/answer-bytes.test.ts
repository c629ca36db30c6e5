/**
 * The bytes of answers: for every operation, REST sends what protobuf-es encodes of the gRPC answer, and both have exactly the expected
 * headers. The transports do not depend on the store, so one store is enough.
 */
import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import type { ClientHttp2Session } from "node:http2";
import { after, before, describe, test } from "node:test";
import { type DescMethodUnary, fromBinary, fromJson, hasOption, type JsonValue, type Message, toBinary, toJson } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { events } from "@holt/api";
import { StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { httpRequestOf } from "../harness/clients.ts";
import { operations } from "../harness/contract.ts";
import { parse, textOf } from "../harness/json.ts";
import { type Http2Answer, openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import {
  changeResource,
  createParent,
  createResource,
  filterForAll,
  hasField,
  hasMethod,
  methodOf,
  parentForOneMore,
} from "../harness/samples.ts";
import { frame } from "../harness/transport-server.ts";
import type { World } from "../harness/world.ts";
import { requestAt } from "./minimal-request.ts";
import { resources, startSampleWorld } from "./samples.ts";
import { succeedingCall } from "./succeeding-call.ts";

const REQUEST_ID = "answer-bytes";
const PREFIX_BYTES = 5;

interface Call {
  readonly method: DescMethodUnary;
  readonly request: Message;
  /** Undefined for none. */
  readonly token: string | undefined;
}

interface RestAnswer {
  readonly status: number;
  /** Name, value, name, value … */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

describe("the bytes of answers", () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let world: World;
  let session: ClientHttp2Session;
  let team: string;
  before(async () => {
    world = await startSampleWorld({ store: "sqlite" });
    session = openHttp2(world.port);
    team = await world.group(world.orgUid, "team");
  });
  after(async () => {
    session.destroy();
    agent.destroy();
    await world[Symbol.asyncDispose]();
  });

  function callRest({ method, request, token }: Call): Promise<RestAnswer> {
    const { verb, path, body } = httpRequestOf(method, request);
    const headers = {
      "x-request-id": REQUEST_ID,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    };
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ agent, host: "127.0.0.1", port: world.port, method: verb, path, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.rawHeaders, body: Buffer.concat(chunks) }));
      });
      sent.on("error", reject).end(body);
    });
  }

  function callGrpc({ method, request, token }: Call): Promise<Http2Answer> {
    const headers = {
      ":method": "POST",
      ":path": `/${method.parent.typeName}/${method.name}`,
      "content-type": "application/grpc",
      te: "trailers",
      "x-request-id": REQUEST_ID,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    };
    return requestHttp2(session, headers, frame(toBinary(method.input, request)));
  }

  /** @param mask removes what differs between two calls */
  async function assertAlike(call: Call, mask: Mask = (text) => text): Promise<void> {
    const rest = await callRest(call);
    const grpc = await callGrpc(call);
    if (rest.status !== 200) return assertErrors(rest, grpc);
    assertReply(call.method, rest, messageIn(call.method, grpc), mask);
  }

  for (const { name, method, isPublic } of operations.filter(({ hasRest }) => hasRest))
    test(`${name} has the same answer over REST and gRPC to a minimal request, and to one without a token`, async () => {
      const request = requestAt(method, team);
      await assertAlike({ method, request, token: world.owner.token }, withoutRandomness);
      if (!isPublic) await assertAlike({ method, request, token: undefined });
    });

  for (const sample of resources)
    test(`${sample.title} is read as the same bytes over REST and gRPC`, async () => {
      const group = await world.group(world.orgUid);
      const parent = await createParent(world, sample, group);
      const created = parse((await createResource(world, sample, await parentForOneMore(world, sample, parent), "bytes")).text);
      if (hasField(sample, "description")) await changeResource(world, sample, created, { description: "Zoë ÿ 漢字 😀 \u2028" });
      const { token } = world.owner;
      const list = methodOf(sample, "List");
      await assertAlike({ method: list, request: fromJson(list.input, { uidp: filterForAll(sample, parent) }), token });
      if (!hasMethod(sample, "Get")) return;
      const get = methodOf(sample, "Get");
      await assertAlike({ method: get, request: fromJson(get.input, { uid: textOf(created.uid) }), token });
    });

  for (const operation of operations.filter(({ method, isServed, hasRest }) => hasRest && isServed && hasOption(method, events)))
    test(`${operation.name} replies to a change with the bytes that protobuf-es encodes`, async () => {
      const { method } = operation;
      const { request, token = world.owner.token } = await succeedingCall(world, operation);
      const rest = await callRest({ method, request: fromJson(method.input, request), token });
      assert.equal(rest.status, 200, rest.body.toString());
      assertReply(method, rest, fromJson(method.output, JSON.parse(rest.body.toString() || "{}")));
    });
});

/** The message of a gRPC reply, whose headers and framing must be exact. */
function messageIn({ output }: DescMethodUnary, { headers: { date: _, ...headers }, trailers, body }: Http2Answer): Message {
  assert.deepEqual(Object.fromEntries(Object.entries(headers)), {
    ":status": 200,
    "x-content-type-options": "nosniff",
    "content-type": "application/grpc",
  });
  assert.deepEqual(Object.fromEntries(Object.entries(trailers)), { "grpc-status": "0" });
  assert.equal(body[0], 0);
  assert.equal(body.readUInt32BE(1), body.length - PREFIX_BYTES);
  return fromBinary(output, body.subarray(PREFIX_BYTES));
}

function assertReply({ output, parent }: DescMethodUnary, rest: RestAnswer, message: Message, mask: Mask = (text) => text): void {
  const text = rest.body.toString("utf8");
  const hasNoBody = output.typeName === EmptySchema.typeName && parent.typeName.includes(".v2.");
  assert.deepEqual(namesIn(rest.headers), [...HEADERS, ...(hasNoBody ? [] : ["content-type"]), ...CONNECTION_HEADERS]);
  assertCommonHeaders(rest);
  const json = hasNoBody ? "" : (JSON.parse(text) as JsonValue);
  // Without spaces, with the escapes of JavaScript. src/lib/proto-json.test.ts checks the order of the keys.
  assert.equal(text, hasNoBody ? "" : JSON.stringify(json));
  if (!hasNoBody) assert.deepEqual(comparable(json, mask), comparable(toJson(output, message, { alwaysEmitImplicit: true }), mask));
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;

/** Without what Holt writes in another way than protobuf-es: fractions of seconds, the empty page token, and null for unset messages in version 1. */
function comparable(json: JsonValue, mask: Mask): JsonValue {
  if (typeof json === "string")
    return mask(json.replace(TIME, (_, seconds, fraction = "") => `${seconds}.${fraction.padEnd(3, "0").slice(0, 3)}Z`));
  if (Array.isArray(json)) return json.map((each) => comparable(each, mask));
  if (typeof json !== "object" || json === null) return json;
  const entries = Object.entries(json).filter(([key, value]) => value !== null && !(key === "nextPageToken" && value === ""));
  return Object.fromEntries(entries.map(([key, value]) => [key, comparable(value, mask)]));
}

type Mask = (text: string) => string;

/** Without uids, cursors, tokens and signatures. */
function withoutRandomness(text: string): string {
  return text.replaceAll(/[\w.-]{16,}/g, "random");
}

const HEADERS = ["x-content-type-options", "content-length", "cache-control", "x-request-id"];
const CONNECTION_HEADERS = ["Date", "Connection", "Keep-Alive"];

function assertCommonHeaders({ headers, body }: RestAnswer): void {
  const headerOf = (name: string) => headers[headers.indexOf(name) + 1];
  assert.equal(headerOf("x-content-type-options"), "nosniff");
  assert.equal(headerOf("content-length"), String(body.length));
  assert.equal(headerOf("cache-control"), "no-store");
  assert.equal(headerOf("x-request-id"), REQUEST_ID);
  assert.match(headerOf("Date") ?? "", /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  assert.equal(headerOf("Connection"), "keep-alive");
  assert.equal(headerOf("Keep-Alive"), "timeout=75");
}

function assertErrors(rest: RestAnswer, grpc: Http2Answer): void {
  assertCommonHeaders(rest);
  const { code, message, details } = JSON.parse(rest.body.toString("utf8")) as { code: number; message: string; details: JsonValue[] };
  assert.equal(grpc.headers["grpc-status"], String(code));
  assert.equal(decodeURIComponent(String(grpc.headers["grpc-message"])), message);
  const encoded = grpc.headers["grpc-status-details-bin"] ?? "";
  const status = fromBinary(StatusSchema, Buffer.from(String(encoded), "base64"));
  assert.deepEqual(
    details.map((detail) => (detail as { "@type": string })["@type"]),
    status.details.map(({ typeUrl }) => typeUrl),
  );
}

function namesIn(headers: readonly string[]): string[] {
  return headers.filter((_, index) => index % 2 === 0);
}
