import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { BadRequestSchema } from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "@holt/api/gen/google/rpc/status_pb.ts";
import { GetGroupRequestSchema, GroupSchema, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { type CallMetadata, JsonText } from "../../src/api/call/call.ts";
import { invalidArgument } from "../../src/lib/errors.ts";
import { GrpcClient, openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import { answerKindly, frame, startTransports } from "../harness/transport-server.ts";
import { giveTime } from "../harness/wait.ts";

const { getGroup, createGroup } = GroupsService.method;
const GET_GROUP = "/platform.iam.v2.GroupsService/GetGroup";

/** Sends one unary call with these bytes. @returns the trailers, also if they came as headers */
async function post(port: number, body: Uint8Array | undefined, headers: Record<string, string> = {}) {
  await using session = openHttp2(port);
  const all = { ":method": "POST", ":path": GET_GROUP, "content-type": "application/grpc", te: "trailers", ...headers };
  const answer = await requestHttp2(session, all, body);
  return { ...answer, status: answer.trailers["grpc-status"] ?? answer.headers["grpc-status"] };
}

test("a unary call is answered with a message or with JSON", async () => {
  await using server = await startTransports();
  using client = new GrpcClient(server.port);
  assert.equal((await client.call(PingService.method.ping, {})).response, "pong");
  await using other = await startTransports({ run: async () => new JsonText(GroupSchema, '{"uid":"u","name":"from text"}') });
  using otherClient = new GrpcClient(other.port);
  assert.equal((await otherClient.call(getGroup, { uid: "u" })).name, "from text");
});

test("a call receives its token, request id, client id and user agent from the headers", async () => {
  let seen: CallMetadata | undefined;
  await using server = await startTransports({
    run: (operation, source, metadata) => {
      seen = metadata;
      return answerKindly(operation, source, metadata);
    },
  });
  using client = new GrpcClient(server.port);
  const metadata = new Metadata();
  for (const [name, value] of Object.entries({ authorization: "Bearer t", cgrequestid: "r1", cgclientid: "c1" })) metadata.set(name, value);
  await client.call(getGroup, { uid: "u" }, { metadata });
  assert.equal(seen?.protocol, "grpc");
  assert.equal(seen?.authorization, "Bearer t");
  assert.equal(seen?.requestId, "r1");
  assert.equal(seen?.clientId, "c1");
  assert.match(seen?.userAgent ?? "", /^grpc-node/);
  assert.equal(seen?.remoteAddress, "127.0.0.1");
});

test("a v2beta1 call reaches the v2 operation and knows its version", async () => {
  await using server = await startTransports();
  using client = new GrpcClient(server.port);
  assert.equal((await client.call(PingService.method.ping, {}, { service: "platform.ping.v2beta1.PingService" })).response, "v2beta1");
  await assert.rejects(client.call(PingService.method.ping, {}, { service: "chainguard.platform.ping.v2.PingService" }), {
    code: status.UNIMPLEMENTED,
  });
});

test("a vendor profile adds the vendor's service names", async () => {
  await using server = await startTransports({ vendor: "chainguard" });
  using client = new GrpcClient(server.port);
  const call = async (service: string) => (await client.call(PingService.method.ping, {}, { service })).response;
  assert.equal(await call("platform.ping.v2.PingService"), "pong");
  assert.equal(await call("chainguard.platform.ping.v2.PingService"), "pong");
  assert.equal(await call("chainguard.platform.ping.v2beta1.PingService"), "v2beta1");
  assert.equal(await call("chainguard.platform.ping.PingService"), "pong");
  await client.call(SecurityTokenService.method.exchange, {}, { service: "chainguard.platform.oidc.SecurityTokenService" });
});

test("unknown services and methods answer UNIMPLEMENTED and the connection stays open", async () => {
  await using server = await startTransports();
  using client = new GrpcClient(server.port);
  await assert.rejects(client.call(getGroup, {}, { method: "Nothing" }), { code: status.UNIMPLEMENTED });
  await assert.rejects(client.call(getGroup, {}, { service: "no.such.Service" }), { code: status.UNIMPLEMENTED });
  assert.equal((await client.call(getGroup, { uid: "u" })).uid, "u");
});

test("an error arrives with its details and its message in any script", async () => {
  const message = "ungültig: 名前 100% \u{1f512}\n\ud800 ";
  const run = async () => Promise.reject(invalidArgument("group.name", message));
  await using server = await startTransports({ run, vendor: "chainguard" });
  using client = new GrpcClient(server.port);
  const error: ServiceError = await client.call(getGroup, {}).then(
    () => assert.fail("it was answered"),
    (reason) => reason,
  );
  assert.equal(error.code, status.INVALID_ARGUMENT);
  assert.equal(error.details, `Invalid argument: group.name: ${message.toWellFormed()}`);
  const [bytes] = error.metadata.get("grpc-status-details-bin") as Buffer[];
  const decoded = fromBinary(StatusSchema, bytes as Buffer);
  assert.equal(decoded.code, status.INVALID_ARGUMENT);
  assert.deepEqual(
    decoded.details.map((detail) => detail.typeUrl),
    ["type.googleapis.com/google.rpc.ErrorInfo", "type.googleapis.com/google.rpc.BadRequest"],
  );
  assert.equal(anyUnpack(decoded.details[1] as never, BadRequestSchema)?.fieldViolations[0]?.field, "group.name");
});

test("an error that is too long for a header is shortened", async () => {
  const violations = Array.from({ length: 500 }, (_, i) => ({ field: `f${i}`, description: "ü".repeat(50) }));
  const run = async () => {
    throw Object.assign(invalidArgument("name", "ü".repeat(100_000)), { details: { fieldViolations: violations } });
  };
  await using server = await startTransports({ run });
  using client = new GrpcClient(server.port);
  await assert.rejects(client.call(getGroup, {}), { code: status.INVALID_ARGUMENT });
});

test("an unexpected exception is answered as INTERNAL without its text", async () => {
  await using server = await startTransports({ run: async () => Promise.reject(new TypeError("secret")) });
  using client = new GrpcClient(server.port);
  await assert.rejects(client.call(getGroup, {}), { code: status.INTERNAL, details: "Internal error" });
});

test("a deadline ends the call and aborts its signal", async () => {
  let reason: { code?: number } | undefined;
  await using server = await startTransports({
    run: (_operation, _source, { signal }) =>
      new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          reject(signal.reason);
        }),
      ),
  });
  // The grpc-js client would enforce the deadline itself, so the header alone announces it.
  const { status: code } = await post(server.port, frame(new Uint8Array()), { "grpc-timeout": "50m" });
  assert.equal(code, String(status.DEADLINE_EXCEEDED));
  assert.equal(reason?.code, status.DEADLINE_EXCEEDED);
  assert.equal((await post(server.port, frame(new Uint8Array()), { "grpc-timeout": "soon" })).status, String(status.INVALID_ARGUMENT));
});

test("a call that ignores its signal is still answered at the deadline", async () => {
  await using server = await startTransports({ run: () => new Promise(() => {}) });
  assert.equal((await post(server.port, frame(new Uint8Array()), { "grpc-timeout": "50m" })).status, String(status.DEADLINE_EXCEEDED));
  const byConnect = { "grpc-timeout": "50m", "content-type": "application/grpc+json" };
  assert.equal((await post(server.port, frame(Buffer.from("{}")), byConnect)).status, String(status.DEADLINE_EXCEEDED));
});

test("a call is aborted when its caller cancels", async () => {
  const cancelled = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  await using server = await startTransports({
    run: (_operation, _source, { signal }) => {
      started.resolve();
      signal.addEventListener("abort", () => cancelled.resolve());
      return new Promise(() => {});
    },
  });
  using client = new GrpcClient(server.port);
  const call = client.call(getGroup, {}, { onCall: (each) => void started.promise.then(() => each.cancel()) });
  await assert.rejects(call, { code: status.CANCELLED });
  await cancelled.promise;
});

test("messages up to the size limit are accepted, compressed or not", async () => {
  await using server = await startTransports({ limits: { messageBytes: 100_000 } });
  using client = new GrpcClient(server.port);
  await client.call(createGroup, { parent: "p".repeat(90_000) });
  await assert.rejects(client.call(createGroup, { parent: "p".repeat(110_000) }), { code: status.RESOURCE_EXHAUSTED });
  assert.equal((await client.call(getGroup, { uid: "u" })).uid, "u", "the connection stays open");
});

test("gzip requests are accepted and a decompression bomb is refused", async () => {
  await using server = await startTransports();
  const gzip = (uid: string) => frame(gzipSync(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid }))), 1);
  const answer = await post(server.port, gzip("u"), { "grpc-encoding": "gzip" });
  assert.equal(answer.status, "0");
  assert.equal(fromBinary(GroupSchema, answer.body.subarray(5)).uid, "u");
  assert.equal(answer.body[0], 0, "the answer is not compressed");
  const bomb = gzip("a".repeat(16 << 20));
  assert.ok(bomb.length < 100_000);
  assert.equal((await post(server.port, bomb, { "grpc-encoding": "gzip" })).status, String(status.RESOURCE_EXHAUSTED));
  const unknown = await post(server.port, gzip("u"), { "grpc-encoding": "snappy" });
  assert.equal(unknown.status, String(status.UNIMPLEMENTED));
  assert.equal(unknown.headers["grpc-accept-encoding"], "gzip");
});

test("malformed requests are answered with a status and never hang", async () => {
  await using server = await startTransports();
  const message = frame(toBinary(GetGroupRequestSchema, create(GetGroupRequestSchema, { uid: "u" })));
  const cases: [string, Uint8Array | undefined, Record<string, string>, number][] = [
    ["no message", undefined, {}, status.UNIMPLEMENTED],
    ["two messages", Buffer.concat([message, message]), {}, status.UNIMPLEMENTED],
    ["half a prefix", Buffer.from([0, 0]), {}, status.INVALID_ARGUMENT],
    ["less than announced", message.subarray(0, -1), {}, status.INVALID_ARGUMENT],
    ["more announced than possible", Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]), {}, status.INVALID_ARGUMENT],
    ["not protobuf", frame(Buffer.from([0xff, 0xff, 0xff])), {}, status.INVALID_ARGUMENT],
    ["compressed by nothing", frame(Buffer.from("x"), 1), {}, status.INVALID_ARGUMENT],
    ["not gzip", frame(Buffer.from("x"), 1), { "grpc-encoding": "gzip" }, status.INVALID_ARGUMENT],
    ["unknown flags", frame(Buffer.from("x"), 0x40), {}, status.INVALID_ARGUMENT],
  ];
  for (const [what, body, headers, expected] of cases) {
    assert.equal((await post(server.port, body, headers)).status, String(expected), what);
  }
});

test("a refused request is answered before the client has sent all of it", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  const stream = session.request({ ":method": "POST", ":path": GET_GROUP, "content-type": "application/grpc", "grpc-timeout": "x" });
  stream.write(Buffer.alloc(1000));
  const [headers] = (await once(stream, "response")) as [Record<string, string>];
  assert.equal(headers["grpc-status"], String(status.INVALID_ARGUMENT));
  await once(stream, "close");
  assert.equal(stream.rstCode, 0);
});

test("concurrent calls on one connection get their own answers", async () => {
  await using server = await startTransports({
    run: async (operation, source, metadata) => {
      await giveTime(Math.random() * 20);
      return answerKindly(operation, source, metadata);
    },
  });
  using client = new GrpcClient(server.port);
  const uids = Array.from({ length: 1_000 }, (_, i) => `u${i}`);
  const answers = await Promise.all(uids.map((uid) => client.call(getGroup, { uid })));
  assert.deepEqual(
    answers.map((group) => group.uid),
    uids,
  );
});
