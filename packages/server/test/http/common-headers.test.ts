/** Tests the headers that every response has. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { openHttp2, requestHttp2, talk } from "../harness/raw-clients.ts";
import { frame, startTransports } from "../harness/transport-server.ts";

const PROVIDER = `${"0".repeat(40)}/${"0".repeat(16)}`;
/** A path of every mount, and of what no mount serves. */
const PATHS = [
  ...["/", "/healthz", "/readyz", "/openapi.json", "/docs", "/.well-known/openid-configuration", "/.well-known/jwks.json"],
  ...["/iam/v2/groups", "/iam/v2/nothing", "/nothing", `/${"x".repeat(20_000)}`],
  ...["/v2/", "/v2/a/b/manifests/latest", "/token", "/oauth", "/oauth/style.css", "/oauth/nothing", "/orgcheck?name=x"],
  ...["/libraries/python/simple/", "/libraries/java/a/maven-metadata.xml", `/scim/v2/${PROVIDER}/Users`, "/advisories/feeds/nothing"],
];
const GROUPS = "/platform.iam.v2.GroupsService/ListGroups";
/** Content types of calls, with whether a message has a prefix. */
const CALLS = [
  ...["application/grpc", "application/grpc+json", "application/grpc-web+proto"].map((type) => [type, true] as const),
  ...["application/proto", "application/json"].map((type) => [type, false] as const),
] as const;

describe("every response forbids browsers to guess its type", () => {
  test("no browser may guess the type of a response over HTTP/1.1 or HTTP/2, for every mount and method", async () => {
    await using server = await startServer();
    await using session = openHttp2(server.port);
    for (const path of PATHS) {
      for (const method of ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]) {
        const one = await fetch(server.baseUrl + path, { method, redirect: "manual" });
        assert.equal(one.headers.get("x-content-type-options"), "nosniff", `${method} ${path.slice(0, 60)}`);
        const two = await requestHttp2(session, { ":method": method, ":path": path });
        assert.equal(two.headers["x-content-type-options"], "nosniff", `${method} ${path.slice(0, 60)} over HTTP/2`);
      }
    }
  });

  test("no browser may guess the type of a response over gRPC, gRPC-Web or Connect, for successes and for errors", async () => {
    await using server = await startServer();
    await using session = openHttp2(server.port);
    for (const authorization of [`Bearer ${server.token}`, "Bearer nobody"])
      for (const path of [GROUPS, "/platform.iam.v2.GroupsService/Nothing", "/grpc.health.v1.Health/Check"])
        for (const [type, isFramed] of CALLS) {
          const message = Buffer.from(type.endsWith("json") ? "{}" : "");
          const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers", authorization };
          const answer = await requestHttp2(session, headers, isFramed ? frame(message) : message);
          assert.equal(answer.headers["x-content-type-options"], "nosniff", `${type} ${path}`);
        }
  });

  test("no browser may guess the type of a response to a request that no handler gets to see", async () => {
    await using server = await startTransports();
    const refused = [
      "garbage\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nhost: holt\r\nexpect: a-miracle\r\n\r\n",
      `GET / HTTP/1.1\r\nhost: holt\r\n${"x: y\r\n".repeat(200)}\r\n`,
      `GET / HTTP/1.1\r\nhost: holt\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
    ];
    for (const text of refused)
      assert.match(await talk(server.port, text), /^HTTP\/1\.1 4\d\d [\s\S]*x-content-type-options: nosniff\r\n/i, text.slice(0, 60));
    for (const headers of [
      { ":method": "CONNECT", ":authority": "holt" },
      { ":path": "/", x: "y".repeat(40_000) },
    ] as Record<string, string>[]) {
      await using session = openHttp2(server.port);
      assert.equal(
        (await requestHttp2(session, headers)).headers["x-content-type-options"],
        "nosniff",
        JSON.stringify(headers).slice(0, 60),
      );
    }
  });
});

describe("a request that does not name one host is refused", () => {
  const request = (headers: string, version = "1.1") => `GET /healthz HTTP/${version}\r\n${headers}connection: close\r\n\r\n`;

  test("HTTP/1: the same header twice, in any spelling", async () => {
    await using server = await startTransports();
    for (const headers of ["host: a\r\nhost: b\r\n", "Host: a\r\nHOST: a\r\n", "host: a\r\nx: y\r\nhost: b\r\n", ""])
      assert.match(await talk(server.port, request(headers)), /^HTTP\/1\.1 400 /, JSON.stringify(headers));
    assert.match(await talk(server.port, request("host: a\r\nhost: b\r\n", "1.0")), /^HTTP\/1\.[01] 400 /);
    assert.match(await talk(server.port, request("", "1.0")), /^HTTP\/1\.[01] 200 /);
    assert.match(await talk(server.port, request("host: a\r\n")), /^HTTP\/1\.1 200 /);
  });

  test("HTTP/1: a host that is none", async () => {
    await using server = await startTransports();
    const statusOf = async (host: string) => (await talk(server.port, request(`host: ${host}\r\n`))).slice(9, 12);
    for (const host of ["a b", "a, b", "a/b", "user@a", "a:b", "a:1:2", "[", "[::1", "::1", "a?b", "%zz", "\xe4.test"])
      assert.equal(await statusOf(host), "400", host);
    for (const host of ["", "holt", "holt.test:8080", "holt:", "a_b.svc", "127.0.0.1:1", "[::1]:8080", "[fe80::1%25eth0]", "a%20b"])
      assert.equal(await statusOf(host), "200", host);
  });

  test("HTTP/2: a host that differs from the authority, for calls and for paths", async () => {
    await using server = await startTransports();
    await using session = openHttp2(server.port);
    const paths: Record<string, string>[] = [
      { ":path": "/healthz" },
      { ":path": GROUPS, ":method": "POST", "content-type": "application/grpc", te: "trailers" },
    ];
    for (const headers of paths) {
      const [body, isCall] = [frame(Buffer.alloc(0)), ":method" in headers];
      const answer = async (host: Record<string, string>) =>
        (await requestHttp2(session, { ...headers, ...host }, isCall ? body : undefined)).headers[":status"];
      assert.equal(await answer({ ":authority": "a.test", host: "b.test" }), 400);
      assert.equal(await answer({ ":authority": "a.test", host: "A.test" }), 200);
      assert.equal(await answer({ ":authority": "a.test" }), 200);
    }
  });
});
