import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from "@holt/api/gen/grpc/health/v1/health_pb.ts";
import { openHttp2, requestHttp2 } from "../harness/raw-clients.ts";
import { frame, startTransports } from "../harness/transport-server.ts";

test("the router serves paths that are not in the contract, and passes all others to REST", async () => {
  await using server = await startTransports();
  const get = (path: string, method = "GET") => fetch(`http://127.0.0.1:${server.port}${path}`, { method });
  assert.equal(await (await get("/healthz")).text(), "ok\n");
  assert.equal(await (await get("/readyz?verbose")).text(), "ok\n");
  assert.equal(((await (await get("/")).json()) as { docs: string }).docs, "/docs");
  assert.equal(await (await get("/docs/a/b")).text(), "docs at /docs/a/b");
  assert.deepEqual(await (await get("/documents")).json(), { rest: "/documents" });
  assert.deepEqual(await (await get("/iam/v2/groups?page_size=1")).json(), { rest: "/iam/v2/groups?page_size=1" });
});

test("the fixed paths of the router accept only GET and HEAD", async () => {
  await using server = await startTransports();
  const post = await fetch(`http://127.0.0.1:${server.port}/healthz`, { method: "POST" });
  assert.equal(post.status, 405);
  assert.equal(post.headers.get("allow"), "GET, HEAD");
  const head = await fetch(`http://127.0.0.1:${server.port}/healthz`, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), "3");
  await using session = openHttp2(server.port);
  const head2 = await requestHttp2(session, { ":path": "/healthz", ":method": "HEAD" });
  assert.equal(head2.headers["content-length"], "3");
  assert.equal(head2.body.length, 0);
});

test("the discovery document names the issuer byte for byte, and the URL of its keys", async () => {
  await using server = await startTransports();
  const response = await fetch(`http://127.0.0.1:${server.port}/.well-known/openid-configuration`);
  const document = (await response.json()) as Record<string, unknown>;
  assert.equal(document.issuer, "https://issuer.test");
  assert.equal(document.jwks_uri, "https://issuer.test/.well-known/jwks.json");
  assert.deepEqual(document.id_token_signing_alg_values_supported, ["RS256"]);
  assert.match(response.headers.get("cache-control") ?? "", /max-age/);
  const keys = await fetch(`http://127.0.0.1:${server.port}/.well-known/jwks.json`);
  assert.deepEqual(await keys.json(), { keys: [] });
});

test("readiness reflects the store and draining, over HTTP and gRPC", async () => {
  let isDown = false;
  await using server = await startTransports({ ping: () => (isDown ? Promise.reject(new Error("down")) : Promise.resolve()) });
  const health = createClient(Health, createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }));
  const ready = () => fetch(`http://127.0.0.1:${server.port}/readyz`);
  assert.equal((await health.check({})).status, ServingStatus.SERVING);
  assert.equal((await health.check({ service: "platform.iam.v2beta1.GroupsService" })).status, ServingStatus.SERVING);
  await assert.rejects(health.check({ service: "no.such.Service" }), { code: Code.NotFound });
  isDown = true;
  assert.equal((await health.check({})).status, ServingStatus.NOT_SERVING);
  assert.equal((await ready()).status, 503);
  assert.equal(await (await ready()).text(), "the store does not answer\n");
  isDown = false;
  assert.equal((await ready()).status, 200);
  server.health.drain();
  assert.equal(await (await ready()).text(), "the server is stopping\n");
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
});

test("the list of health statuses asks the store once for all services", async () => {
  let pings = 0;
  await using server = await startTransports({
    async ping() {
      pings++;
    },
  });
  const health = createClient(Health, createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }));
  const { statuses } = await health.list({});
  assert.ok(Object.keys(statuses).length > 50);
  assert.ok(Object.values(statuses).every(({ status }) => status === ServingStatus.SERVING));
  assert.equal(pings, 1);
});

test("a health watcher gets the status at once, and another one when the server drains", async () => {
  await using server = await startTransports();
  const health = createClient(Health, createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.port}` }));
  const received: ServingStatus[] = [];
  for await (const { status } of health.watch({})) {
    received.push(status);
    server.health.drain();
  }
  assert.deepEqual(received, [ServingStatus.SERVING, ServingStatus.NOT_SERVING]);
  for await (const { status } of health.watch({ service: "no.such.Service" })) assert.equal(status, ServingStatus.SERVICE_UNKNOWN);
});

test("a health watcher whose deadline passes is told so", async () => {
  await using server = await startTransports();
  await using session = openHttp2(server.port);
  const headers = { ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", "content-type": "application/grpc", te: "trailers" };
  const { trailers } = await requestHttp2(session, { ...headers, "grpc-timeout": "50m" }, frame(new Uint8Array()));
  assert.equal(trailers["grpc-status"], String(Code.DeadlineExceeded));
});
