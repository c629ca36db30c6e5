import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectHttp2 } from "node:http2";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { connect, createServer, type PeerCertificate, type TLSSocket } from "node:tls";
import { credentials } from "@grpc/grpc-js";
import { PingService } from "@holt/api/gen/platform/ping/v2/ping_pb.ts";
import { generate } from "selfsigned";
import { readCertificate, watchCertificate } from "../../src/http/certificate.ts";
import { createLog } from "../../src/lib/log.ts";
import { closed, GrpcClient, openSocket, requestHttp2, untilClosed } from "../harness/raw-clients.ts";
import { startTransports } from "../harness/transport-server.ts";
import { never, until } from "../harness/wait.ts";

let folder: string;
let files: { certFile: string; keyFile: string };
const first = { cert: "", private: "" };
const second = { cert: "", private: "" };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "holt-tls-"));
  files = { certFile: join(folder, "tls.crt"), keyFile: join(folder, "tls.key") };
  for (const pair of [first, second]) {
    const name = pair === first ? "first" : "second";
    Object.assign(pair, await generate([{ name: "commonName", value: name }], { keyType: "ec", extensions: [subjectAltName] }));
  }
});
const subjectAltName = { name: "subjectAltName" as const, altNames: [{ type: 2 as const, value: "localhost" }] };
after(() => rm(folder, { recursive: true }));

async function writePair(pair: typeof first): Promise<void> {
  await writeFile(files.certFile, pair.cert);
  await writeFile(files.keyFile, pair.private);
}

async function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca: [first.cert, second.cert], ...options });
  await once(socket, "secureConnect");
  return socket;
}

test("over TLS, ALPN chooses between HTTP/2 and HTTP/1.1, and gRPC works", async () => {
  await writePair(first);
  await using server = await startTransports({ tls: files });
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, { ca: first.cert, servername: "localhost" });
  assert.equal(String((await requestHttp2(session, { ":path": "/healthz" })).body), "ok\n");
  session.destroy();
  const [response] = await once(
    request({ port: server.port, host: "127.0.0.1", path: "/healthz", ca: first.cert, servername: "localhost" }).end(),
    "response",
  );
  assert.equal(response.httpVersion, "1.1");
  assert.equal(response.statusCode, 200);
  using client = new GrpcClient(server.port, credentials.createSsl(Buffer.from(first.cert)));
  assert.equal((await client.call(PingService.method.ping, {})).response, "pong");
});

test("the server refuses TLS versions before 1.2", async () => {
  await writePair(first);
  await using server = await startTransports({ tls: files });
  const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" };
  await assert.rejects(handshake(server.port, old));
  const socket = await handshake(server.port, { maxVersion: "TLSv1.2" });
  assert.equal(socket.getProtocol(), "TLSv1.2");
  socket.destroy();
});

test("a client that does not speak TLS, or does not finish the handshake, is cut off", async () => {
  await writePair(first);
  await using server = await startTransports({ tls: files, limits: { firstByteMs: 200 } });
  const plain = openSocket(server.port);
  plain.write("GET / HTTP/1.1\r\nhost: holt\r\n\r\n");
  await untilClosed(plain);
  assert.equal(await untilClosed(openSocket(server.port)), "");
});

test("draining and disposing work over TLS as over clear text", async () => {
  await writePair(first);
  const server = await startTransports({ tls: files, rest: () => {} });
  const running = await handshake(server.port);
  running.write("GET /slow HTTP/1.1\r\nhost: holt\r\n\r\n");
  const idle = await handshake(server.port);
  idle.write("GET /healthz HTTP/1.1\r\nhost: holt\r\n\r\n");
  await once(idle, "data");
  const idleEnd = closed(idle);
  const runningEnd = closed(running);
  void server.listener.drain();
  await idleEnd;
  await server[Symbol.asyncDispose]();
  await runningEnd;
});

test("new connections get a changed certificate, but not a broken one", async () => {
  await writePair(first);
  const server = createServer(readCertificate(files), (socket) => void socket.on("error", () => {}).pipe(socket));
  using _watch = watchCertificate(files, server, createLog("silent"), 20);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const established = await handshake(port);
  assert.equal(await commonName(port), "first");

  await writePair(second);
  await until(async () => (await commonName(port)) === "second");
  await writeFile(files.keyFile, "no key");
  await never(async () => assert.equal(await commonName(port), "second", "the server uses the broken one"));
  established.write("still here");
  const [echo] = await once(established, "data");
  assert.equal(String(echo), "still here");
  established.destroy();
  server.close();
});

test("the listener refuses to start with a certificate and a key that do not match", async () => {
  await writeFile(files.certFile, first.cert);
  await writeFile(files.keyFile, second.private);
  await assert.rejects(startTransports({ tls: files }));
});

async function commonName(port: number): Promise<string | undefined> {
  const socket = await handshake(port);
  const { subject }: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

test("over TLS, a connection beyond the limit of its address is closed at once, until another one closes", async () => {
  await writePair(first);
  await using server = await startTransports({ tls: files, limits: { connectionsPerAddress: 1 } });
  const open = await handshake(server.port);
  await assert.rejects(handshake(server.port));
  open.destroy();
  await until(() =>
    handshake(server.port).then(
      (socket) => socket.destroy() !== undefined,
      () => false,
    ),
  );
});
