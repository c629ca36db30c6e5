/** The log of a real process has a line for each call and contains no secret. */
import assert from "node:assert/strict";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { test } from "node:test";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { decodeJwt } from "jose";
import { openDatabase } from "../../src/cli/open-installation.ts";
import { createLog } from "../../src/lib/log.ts";
import { createGrpcClient } from "../harness/clients.ts";
import { printedToken, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly operation?: string;
  readonly code?: string;
  readonly ms?: number;
  readonly principal?: string;
  readonly requestId?: string;
  readonly protocol?: string;
  readonly client?: string;
}

/** The complete lines of a log that a process may still be writing. */
function linesOf(log: string): Line[] {
  return log
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

test("the log has one JSON line per call with operation, caller and outcome", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path });
  const token = await printedToken({ HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}` });
  const owner = decodeJwt(token).sub;
  const call = (path: string, headers: Record<string, string>) => fetch(server.baseUrl + path, { headers });
  const authorization = `Bearer ${token}`;
  await call("/iam/v2/groups", { authorization, cgrequestid: "r-1", cgclientid: "tests" });
  await call("/iam/v2/groups/ffffffffffffffffffffffffffffffffffffffff", { authorization, cgrequestid: "r-2" });
  await call("/iam/v2/groups", { cgrequestid: "r-3" });
  await call("/healthz", {});
  await using grpc = createGrpcClient(server.baseUrl);
  await grpc.call(PingService.method.ping, {}, undefined);
  await until(() => linesOf(server.stderr()).filter(({ msg }) => msg === "call").length >= 4);

  const lines = linesOf(server.stderr()).filter(({ msg }) => msg === "call");
  assert.equal(lines.length, 4);
  const [listed, missing, stranger, pinged] = lines;
  const at = (line: Line | undefined) => [line?.operation, line?.code, line?.principal, line?.requestId, line?.protocol, line?.client];
  assert.deepEqual(at(listed), ["platform.iam.v2.GroupsService/ListGroups", "OK", owner, "r-1", "rest", "tests"]);
  assert.deepEqual(at(missing), ["platform.iam.v2.GroupsService/GetGroup", "NOT_FOUND", owner, "r-2", "rest", undefined]);
  assert.deepEqual(at(stranger), ["platform.iam.v2.GroupsService/ListGroups", "UNAUTHENTICATED", undefined, "r-3", "rest", undefined]);
  assert.deepEqual(at(pinged).slice(0, 3), ["platform.ping.v2.PingService/Ping", "OK", undefined]);
  assert.match(pinged?.requestId ?? "", /^[0-9a-f-]{36}$/);
  for (const { ms } of lines) assert.ok(typeof ms === "number" && ms >= 0 && ms < 60_000);
});

test("the log never contains a token, wherever the client sends it", async () => {
  await using folder = await temporaryFolder();
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_LOG_LEVEL: "debug" });
  const token = await printedToken({ HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}` });
  const broken = `${token.slice(0, -4)}AAAA`;
  for (const secret of [token, broken]) {
    const bearer = { authorization: `Bearer ${secret}` };
    await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: bearer });
    await fetch(`${server.baseUrl}/iam/v2/groups?access_token=${secret}&page_token=${secret}`, { headers: bearer });
    await fetch(`${server.baseUrl}/sts/exchange?aud=x`, { method: "POST", headers: bearer });
    await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: { authorization: secret } });
    await fetch(`${server.baseUrl}/iam/v2/groups`, { headers: { authorization: `Basic ${secret}` } });
    await fetch(`${server.baseUrl}/iam/v2/groups`, { method: "POST", headers: bearer, body: `{"name":"${secret}` });
    await fetch(`${server.baseUrl}/iam/v2/groups`, { method: "POST", headers: bearer, body: `{"name":"${secret}"}` });
    // This is not HTTP. The parser error of Node contains all sent bytes.
    for (const request of [
      `GET /iam/v2/groups HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ${secret}\r\nBad Header: x\r\n\r\n`,
      `GET /?access_token=${secret} HTTP/9.9\r\n\r\n`,
      `GET /platform.ping.v2.PingService/Ping?token=${secret} HTTP/1.1\r\nHost: [\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
    ]) {
      await new Promise((resolve) => {
        const socket = connect(server.port, "127.0.0.1", () => socket.end(request)).on("error", () => {});
        socket.resume().once("close", resolve);
      });
    }
    // The caller of this Connect call disconnects during the call.
    const session = connectHttp2(server.baseUrl).on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": `/platform.iam.v2.GroupsService/ListGroups?token=${secret}`,
      "content-type": "application/grpc-web",
      authorization: `Bearer ${secret}`,
    });
    stream.on("error", () => {}).write("\0\0");
    await new Promise((resolve) => session.ping(resolve));
    session.destroy();
  }
  server.kill("SIGTERM");
  const { stderr } = await server.ended;
  assert.match(stderr, /malformed HTTP/);
  for (const line of stderr.trim().split("\n")) assert.doesNotThrow(() => JSON.parse(line), line);
  for (const secret of [token, broken]) {
    const signature = secret.split(".")[2] ?? "";
    for (const part of [secret, signature, secret.split(".")[1] ?? ""]) {
      assert.ok(!stderr.includes(part), `the log holds ${part.slice(0, 20)}…`);
      // Node prints the bytes of a buffer like this.
      assert.ok(!stderr.includes([...Buffer.from(part)].join(",")), "the log holds the bytes of a token");
      assert.ok(!stderr.includes(Buffer.from(part).toString("hex")), "the log holds the bytes of a token");
    }
  }
});

test("the log names the identity provider of a SCIM request, and never contains a provider's secret, accepted or refused", async () => {
  await using folder = await temporaryFolder();
  const secret = "Tr0ub4dor-client";
  await using server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_LOG_LEVEL: "debug" });
  const token = await printedToken({ HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}` });
  const post = async (path: string, body: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    return (await (await fetch(server.baseUrl + path, { method: "POST", headers, body })).json()) as Record<string, string>;
  };
  const { uid: organization } = await post("/iam/v2/groups", JSON.stringify({ name: "acme" }));
  const oidc = { issuer: "https://idp.example.com", clientId: "holt", clientSecret: secret };
  const provider = { name: "sso", defaultRole: "63921b2c44617e3f2603851537be0123af4a57d7", oidc };
  const path = `/iam/v2/identityProviders/${organization}`;
  const { uid } = await post(path, JSON.stringify(provider));
  const bad = [
    { ...provider, name: secret },
    { ...provider, oidc: { ...oidc, issuer: "x" } },
    { ...provider, oidc: { ...oidc, clientSecret: [secret] } },
    { ...provider, oidc: { ...oidc, clientId: [] } },
  ];
  for (const body of bad) assert.ok((await post(path, JSON.stringify(body))).code);
  for (const body of [`{"oidc":{"clientSecret":"${secret}`, `{"oidc":{"clientSecret":"${secret}" nonsense}}`])
    assert.ok((await post(path, body)).code);
  const generated = await post(`/iam/v2/identityProviders/${uid}:generateScimToken`, "{}");
  assert.match(generated.token ?? "", /^cgscim_/);
  {
    await using store = await openDatabase({ url: "", dataDir: folder.path, log: createLog("silent") });
    // The API asks for two owners first.
    await store.transaction((db) => db.updateTable("scim_token").set({ enabled: 1 }).execute());
  }
  await fetch(`${server.baseUrl}/scim/v2/${uid}/Users`, { headers: { authorization: `Bearer ${generated.token}` } });
  await until(() => linesOf(server.stderr()).some(({ msg, principal }) => msg === "scim" && principal === uid));
  server.kill("SIGTERM");
  const { stderr } = await server.ended;
  assert.match(stderr, /CreateIdentityProvider/);
  for (const hidden of [secret, generated.token ?? "", (generated.token ?? "").slice(7)]) assert.ok(!stderr.includes(hidden), stderr);
});
