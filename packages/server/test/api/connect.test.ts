import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { create, type DescMethodUnary, fromBinary, type Message, type MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { BadRequestSchema } from "@holt/api/gen/google/rpc/error_details_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import type { Run } from "../../src/api/call/run.ts";
import { invalidArgument } from "../../src/lib/errors.ts";
import { openSocket, talk } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";

const transports = [
  ["gRPC-Web over HTTP/1.1", "grpc-web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC-Web over HTTP/2", "grpc-web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "2" })],
  ["gRPC-Web with JSON", "grpc-web", (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false })],
  ["Connect over HTTP/1.1", "connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect over HTTP/2", "connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true })],
  ["gRPC by Connect's client", "grpc", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ["gRPC with JSON", "grpc", (baseUrl: string) => createGrpcTransport({ baseUrl, useBinaryFormat: false })],
] as const;

for (const [name, protocol, createTransport] of transports) {
  test(`a call over ${name} is answered, and an error arrives with its details`, async () => {
    const run = async () => Promise.reject(invalidArgument("group.name", "名前 is wrong"));
    await using server = await startTransports();
    await using failing = await startTransports({ run });
    const group = await createClient(GroupsService, createTransport(`http://127.0.0.1:${server.port}`)).getGroup({ uid: "u" });
    assert.equal(group.uid, "u");
    assert.equal(group.name, protocol);

    const client = createClient(GroupsService, createTransport(`http://127.0.0.1:${failing.port}`));
    const error = await client.getGroup({ uid: "u" }).then(
      () => assert.fail("it was answered"),
      (reason: unknown) => ConnectError.from(reason),
    );
    assert.equal(error.code, Code.InvalidArgument);
    assert.equal(error.rawMessage, "Invalid argument: group.name: 名前 is wrong");
    assert.equal(error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field, "group.name");
  });

  test(`a deadline ends a call over ${name}`, async () => {
    await using server = await startTransports({ run: () => new Promise(() => {}) });
    const client = createClient(GroupsService, createTransport(`http://127.0.0.1:${server.port}`));
    await assert.rejects(client.getGroup({}, { timeoutMs: 50 }), { code: Code.DeadlineExceeded });
  });
}

test("plain JSON can be posted to any name of a method", async () => {
  await using server = await startTransports({ vendor: "chainguard" });
  for (const [service, answer] of [
    ["platform.ping.v2.PingService", "pong"],
    ["chainguard.platform.ping.v2beta1.PingService", "v2beta1"],
  ]) {
    const url = `http://127.0.0.1:${server.port}/${service}/Ping`;
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    assert.deepEqual(await response.json(), { response: answer });
  }
});

test("a JSON message over Connect is read as over REST: both names of a capability, and both spellings of a path in a mask", async () => {
  const requests: Message[] = [];
  const run: Run = async ({ method }, source) => {
    requests.push(await source());
    return create(method.output);
  };
  await using server = await startTransports({ run });
  await postJson(server.port, RolesService.method.updateRole, {
    role: { uid: "u", capabilities: ["groups.list", "CAP_IAM_GROUPS_CREATE", 1104] },
    updateMask: "capabilities,update_time",
  });
  const [{ role, updateMask }] = requests as [MessageShape<typeof RolesService.method.updateRole.input>];
  assert.deepEqual(role?.capabilities, [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_IAM_GROUPS_CREATE, 1104]);
  assert.deepEqual(updateMask?.paths, ["capabilities", "update_time"]);
});

test("a value of a JSON message over Connect that does not fit its field is refused, and the error names the field", async () => {
  await using server = await startTransports();
  for (const [role, field] of [
    [{ capabilities: ["groups.list", "groups.lst"] }, "role.capabilities[1]"],
    [{ name: 5 }, "role.name"],
    [{ updateTime: "yesterday" }, "role.update_time"],
  ] as const) {
    const { status, error } = await postJson(server.port, RolesService.method.createRole, { parent: "u", role });
    assert.equal(status, 400);
    assert.equal(error.code, "invalid_argument");
    const [, badRequest] = error.details;
    const { fieldViolations } = fromBinary(BadRequestSchema, Buffer.from(badRequest?.value ?? "", "base64"));
    assert.deepEqual(
      fieldViolations.map((violation) => violation.field),
      [field],
    );
  }
});

interface JsonAnswer {
  readonly status: number;
  readonly error: { readonly code: string; readonly details: readonly { readonly value: string }[] };
}

async function postJson(port: number, method: DescMethodUnary, message: object): Promise<JsonAnswer> {
  const url = `http://127.0.0.1:${port}/${method.parent.typeName}/${method.name}`;
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  return { status: response.status, error: (await response.json()) as JsonAnswer["error"] };
}

test("an unknown method answers UNIMPLEMENTED over gRPC-Web", async () => {
  await using server = await startTransports();
  const url = `http://127.0.0.1:${server.port}/platform.ping.v2.PingService/Pong`;
  const response = await fetch(url, { method: "POST", headers: { "content-type": "application/grpc-web+proto" }, body: new Uint8Array(5) });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "application/grpc-web+proto");
  assert.equal(response.headers.get("grpc-status"), String(Code.Unimplemented));
});

test("messages beyond the size limit answer RESOURCE_EXHAUSTED, also if only the decompressed size exceeds it", async () => {
  await using server = await startTransports({ limits: { messageBytes: 10_000 } });
  const url = `http://127.0.0.1:${server.port}/platform.iam.v2.GroupsService/GetGroup`;
  const large = JSON.stringify({ uid: "a".repeat(1_000_000) });
  for (const [body, headers] of [
    [large, {}],
    [gzipSync(large), { "content-encoding": "gzip" }],
  ] as const) {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
    assert.equal(response.status, 429);
    assert.equal(((await response.json()) as { code: string }).code, "resource_exhausted");
  }
});

test("a call with another method than POST is told which one is allowed", async () => {
  await using server = await startTransports();
  for (const path of [`/${GroupsService.typeName}/GetGroup?connect=v1&encoding=json&message=%7B%7D`, "/grpc.health.v1.Health/Check"]) {
    for (const method of ["GET", "PUT"]) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
      assert.deepEqual([response.status, response.headers.get("allow")], [405, "POST"], `${method} ${path}`);
    }
  }
});

test("an invalid Host header is answered with 400", async () => {
  await using server = await startTransports();
  const request = "POST /platform.ping.v2.PingService/Ping HTTP/1.1\r\nhost: [\r\ncontent-type: application/json\r\nconnection: close\r\n";
  assert.match(await talk(server.port, `${request}content-length: 2\r\n\r\n{}`), /^HTTP\/1.1 400 /);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
});

for (const type of ["application/json", "application/proto", "application/grpc-web+proto"]) {
  test(`${type}: a client that disconnects while a pipelined message is incomplete does not end the server`, async () => {
    const called = Promise.withResolvers<AbortSignal>();
    const run: Run = (_operation, _source, { signal }) => {
      called.resolve(signal);
      return new Promise(() => {});
    };
    await using server = await startTransports({ run, rest: () => {} });
    const socket = openSocket(server.port);
    const path = `/${GroupsService.typeName}/CreateGroup`;
    // The response of the second request waits for that of the first.
    socket.write("GET /held HTTP/1.1\r\nhost: holt\r\n\r\n");
    socket.write(`POST ${path} HTTP/1.1\r\nhost: holt\r\ncontent-type: ${type}\r\ncontent-length: 100\r\n\r\n{`);
    const aborted = once(await called.promise, "abort");
    socket.resetAndDestroy();
    await aborted;
    assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
  });
}
