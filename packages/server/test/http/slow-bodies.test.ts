/** Callers that send their requests slowly hold neither the slots of the process nor the memory of other callers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import type { ConcurrencyLimit, Slot } from "../../src/jobs/limit.ts";
import { invalidArgument } from "../../src/lib/errors.ts";
import { openHttp2, openSocket, requestHttp2, untilClosed } from "../harness/raw-clients.ts";
import { startDirectory } from "../harness/scim/directory.ts";
import { frame, startTransports } from "../harness/transport-server.ts";
import { until } from "../harness/wait.ts";
import { startWorld, type World } from "../harness/world.ts";

const CREATE_GROUP = "/platform.iam.v2.GroupsService/CreateGroup";
const FORM = "application/x-www-form-urlencoded";

/** Never refuses. */
class CountedSlots implements ConcurrencyLimit {
  runs = 0;
  readonly held = new Set<object>();

  take(): Slot {
    const key = {};
    const slot = { retake: () => void this.held.add(key), release: () => void this.held.delete(key) };
    this.runs++;
    slot.retake();
    return slot;
  }

  async run<T>(work: Parameters<ConcurrencyLimit["run"]>[0]): Promise<T> {
    const slot = this.take();
    try {
      return (await work(slot)) as T;
    } finally {
      slot.release();
    }
  }
}

interface SlowRequest {
  readonly method: string;
  readonly path: string;
  readonly type?: string;
  readonly token?: string;
}

/** Sends all of a request but the last byte of its body. */
function begin(world: World, { method, path, type = "application/json", token = world.owner.token }: SlowRequest): Socket {
  const socket = openSocket(world.port);
  const headers = ["host: h", `content-type: ${type}`, `authorization: Bearer ${token}`, "connection: close", "content-length: 2"];
  socket.write(`${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n{`);
  return socket;
}

async function slowRequests(world: World): Promise<readonly (readonly [string, SlowRequest])[]> {
  const { path, token } = await startDirectory(world);
  return [
    ["REST", { method: "POST", path: `/iam/v2/groups/${world.orgUid}` }],
    ["Connect", { method: "POST", path: CREATE_GROUP }],
    ["gRPC-Web", { method: "POST", path: CREATE_GROUP, type: "application/grpc-web+proto" }],
    ["registry", { method: "PUT", path: "/v2/my-org/held/manifests/latest" }],
    ["SCIM", { method: "POST", path: `${path}/Users`, token }],
    ["Python library", { method: "POST", path: "/libraries/python/my-org/simple/project/1.0/yank", type: FORM }],
    ["Java library", { method: "PUT", path: "/libraries/java/my-org/com/a/b/1.0/b-1.0.jar.sha1", type: "text/plain" }],
  ];
}

test("a caller with a token holds no slot of the process while its body does not arrive, over any protocol", async (t) => {
  const callLimit = new CountedSlots();
  await using world = await startWorld({ callLimit });
  for (const [protocol, slow] of await slowRequests(world)) {
    const before = callLimit.runs;
    const socket = begin(world, slow);
    t.after(() => socket.destroy());
    await until(() => callLimit.runs > before && callLimit.held.size === 0);
    socket.write("}");
    assert.match(await untilClosed(socket), /^HTTP\/1\.1 \d\d\d /, protocol);
    assert.equal(callLimit.held.size, 0);
  }
});

test("a gRPC caller with a token holds no slot of the process while its message does not arrive", async () => {
  const callLimit = new CountedSlots();
  await using world = await startWorld({ callLimit });
  await using session = openHttp2(world.port);
  const headers = { ":method": "POST", ":path": CREATE_GROUP, "content-type": "application/grpc", te: "trailers" };
  const before = callLimit.runs;
  const stream = session.request({ ...headers, authorization: `Bearer ${world.owner.token}` });
  stream.write(Buffer.alloc(3));
  await until(() => callLimit.runs > before && callLimit.held.size === 0);
  stream.end(Buffer.alloc(2));
  await new Promise((resolve) => stream.resume().once("close", resolve));
  assert.equal(callLimit.runs, before + 2);
});

test("a gRPC caller whose message arrives with its headers is authenticated once", async () => {
  const callLimit = new CountedSlots();
  await using world = await startWorld({ callLimit });
  await using session = openHttp2(world.port);
  await once(session, "connect");
  const headers = { ":method": "POST", ":path": CREATE_GROUP, "content-type": "application/grpc", te: "trailers" };
  const before = callLimit.runs;
  await requestHttp2(session, { ...headers, authorization: `Bearer ${world.owner.token}` }, frame(Buffer.alloc(0)));
  assert.equal(callLimit.runs, before + 1);
});

test("gRPC calls that are refused before their message has arrived leave no stream open", async () => {
  const run = () => Promise.reject(invalidArgument("", "refused without reading"));
  await using server = await startTransports({ run, limits: { sessionIdleMs: 2000 } });
  const session = openHttp2(server.port);
  const isClosed = once(session, "close");
  for (const bytes of [1, 20_000, 60_000]) {
    const headers = { ":method": "POST", ":path": CREATE_GROUP, "content-type": "application/grpc", te: "trailers" };
    const stream = session.request(headers);
    stream.write(Buffer.alloc(bytes));
    const [answer] = await once(stream, "response");
    assert.equal(answer["grpc-status"], "3");
  }
  // The server closes an idle connection that has no open stream.
  await isClosed;
});

/** Sends a message of 60,000 bytes but its end. The server has read it before the next ping is answered. */
async function holdMemory(session: ReturnType<typeof openHttp2>, headers: Record<string, string>): Promise<void> {
  const stream = session.request({ ":method": "POST", ...headers }).on("error", () => {});
  stream.write(Buffer.alloc(60_000));
  await new Promise((resolve) => session.ping(resolve));
}

test("one caller with slow requests takes only its own part of the memory for requests", async () => {
  await using world = await startWorld({ limits: { heldBytes: 1_000_000, heldBytesPerCaller: 100_000 } });
  const other = await world.robot(world.orgUid);
  await using session = openHttp2(world.port);
  const call = { ":path": CREATE_GROUP, "content-type": "application/grpc", te: "trailers" };
  const as = (token: string) => ({ ":method": "POST", ...call, authorization: `Bearer ${token}` });
  const message = frame(Buffer.from(`\x0a\xe0\xd4\x03${"x".repeat(60_000)}`, "latin1"));
  const statusOf = async (token: string) => (await requestHttp2(session, as(token), message)).headers["grpc-status"];
  assert.notEqual(await statusOf(world.owner.token), "8");
  await holdMemory(session, as(world.owner.token));
  await until(async () => (await statusOf(world.owner.token)) === "8");
  assert.notEqual(await statusOf(other.token), "8");
});

test("anonymous callers of one address with slow requests leave memory for requests of other addresses", async () => {
  const limits = { anonymousHeldBytes: 1_000_000, heldBytesPerAddress: 100_000 };
  await using world = await startWorld({ limits, env: { HOLT_TRUSTED_PROXIES: "127.0.0.1" } });
  await using session = openHttp2(world.port);
  for (const path of ["/sts/exchange", "/token", "/oauth/token"]) {
    const from = (address: string) => ({ ":method": "POST", ":path": path, "content-type": FORM, "x-forwarded-for": address });
    const statusOf = async (address: string) =>
      Number((await requestHttp2(session, from(address), Buffer.alloc(60_000, "a"))).headers[":status"]);
    await using slow = openHttp2(world.port);
    await holdMemory(slow, from("192.0.2.1"));
    await until(async () => (await statusOf("192.0.2.1")) === 429);
    assert.notEqual(await statusOf("192.0.2.2"), 429, path);
    slow.destroy();
    await until(async () => (await statusOf("192.0.2.1")) !== 429);
  }
});

test("rights that are revoked while a body arrives do not serve its request", async () => {
  await using world = await startWorld();
  const { uid, token } = await world.robot(world.orgUid);
  const role = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_CREATE]);
  const binding = await world.bind(uid, role, world.orgUid);
  const socket = begin(world, { method: "POST", path: `/iam/v2/groups/${world.orgUid}`, token });
  const answer = untilClosed(socket);
  // The server has begun the slow request when it answers a later one.
  await world.raw("GET", "/iam/v2/groups", undefined, token);
  await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
  socket.write("}");
  assert.match(await answer, /^HTTP\/1.1 403 /);
});
