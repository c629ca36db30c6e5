/** Tests `holtd doctor`: what it finds wrong, with the remedy, and that a good installation has no problems. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { createSecureServer } from "node:http2";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import pg from "pg";
import { generate } from "selfsigned";
import { problemsOfCertificate } from "../../src/cli/doctor/check-certificate.ts";
import { findProblems } from "../../src/cli/doctor/doctor.ts";
import { readConfig } from "../../src/config.ts";
import { freePort } from "../harness/free-port.ts";
import { startServer, storeNames, type TestServer } from "../harness/harness.ts";
import { runHoltd, type Settings, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createDatabase } from "../harness/postgres.ts";
import { until } from "../harness/wait.ts";

/** Findings about the machine of the test. The test database has small settings, and its disk may be full. */
const OF_THE_MACHINE = /^disk|data checksums|fsync|full_page_writes|synchronous_commit|max_connections/;

/** @returns false if a file was removed during the copy */
async function copyFolder(from: string, to: string): Promise<boolean> {
  try {
    await cp(from, to, { recursive: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

function settingsOf({ baseUrl, port, dataDir, databaseUrl }: TestServer): Settings {
  return { HOLT_BASE_URL: baseUrl, HOLT_LISTEN: `127.0.0.1:${port}`, HOLT_DATA_DIR: dataDir, HOLT_DATABASE_URL: databaseUrl };
}

async function linesFor(settings: Settings): Promise<string[]> {
  const problems = await findProblems(readConfig(settings));
  for (const { remedy } of problems) assert.match(remedy, /\w/);
  return problems.map(({ check, problem }) => `${check}: ${problem}`).filter((line) => !OF_THE_MACHINE.test(line));
}

/** A proxy over HTTP/1.1 that changes requests before it passes them on. */
async function startProxy(target: number, change: (path: string, headers: Record<string, unknown>) => string) {
  const server = createServer((incoming, outgoing) => {
    const headers: Record<string, unknown> = { ...incoming.headers };
    const path = change(incoming.url ?? "", headers);
    const passed = request({ port: target, host: "127.0.0.1", path, method: incoming.method, headers: headers as never }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe("holtd doctor", () => {
  for (const store of storeNames) {
    test(`a running server on ${store} has no problems`, async () => {
      await using server = await startServer({ store });
      assert.deepEqual(await linesFor(settingsOf(server)), []);
    });

    test(`a database on ${store} that a newer version migrated is reported`, async () => {
      await using server = await startServer({ store });
      if (store === "sqlite") {
        using database = new DatabaseSync(join(server.dataDir, "holt.db"));
        database.exec("insert into schema_migration (version, name, applied_time) values (9999, 'future', '')");
      } else {
        const client = new pg.Client({ connectionString: server.databaseUrl });
        await client.connect();
        await client.query("insert into schema_migration (version, name, applied_time) values (9999, 'future', '')");
        await client.end();
      }
      const lines = await linesFor(settingsOf(server));
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? "", /^database: a newer Holt has migrated the database \(schema 9999/);
    });
  }

  test("the command prints one line per problem with its remedy, and ends with status 1", async () => {
    await using folder = await temporaryFolder();
    const dataDir = join(folder.path, "data");
    await mkdir(dataDir, { mode: 0o755 });
    await chmod(dataDir, 0o755);
    await writeFile(join(dataDir, "secrets.key"), "", { mode: 0o640 });
    const { code, stdout } = await runHoltd(["doctor"], {
      HOLT_DATA_DIR: dataDir,
      HOLT_LISTEN: "0.0.0.0:8080",
      HOLT_BASE_URL: "http://127.0.0.1:1",
      HOLT_USER_ISSUERS: "https://issuer.invalid",
      HOLT_S3_ENDPOINT: "https://s3.invalid",
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector.invalid:4318",
    });
    assert.equal(code, 1);
    const lines = stdout.trim().split("\n");
    for (const line of lines) assert.match(line, /^[\w ]+: .+\. Remedy: .+\.$/i);
    const has = (start: string) =>
      assert.ok(
        lines.some((line) => line.startsWith(start)),
        `${start} is not in\n${stdout}`,
      );
    has(`permissions: other users may use ${dataDir} (mode 755)`);
    has(`permissions: other users may use ${join(dataDir, "secrets.key")} (mode 640)`);
    has("dns: issuer.invalid of an issuer of HOLT_USER_ISSUERS does not resolve");
    has("dns: s3.invalid of HOLT_S3_ENDPOINT does not resolve");
    has("dns: collector.invalid of OTEL_EXPORTER_OTLP_ENDPOINT does not resolve");
    has("base URL: the server listens on 0.0.0.0, but HOLT_BASE_URL is http://127.0.0.1:1");
    has("base URL: the server cannot be reached under its base URL http://127.0.0.1:1");
  });

  test("an archive of the write-ahead log without the latest changes, or without a base, is reported", async () => {
    await using folder = await temporaryFolder();
    const archive = { HOLT_WAL_ARCHIVE: join(folder.path, "archive") };
    await using server = await startServer({ env: archive });
    const settings = settingsOf(server);
    await until(async () => (await linesFor({ ...settings, ...archive })).length === 0);
    const other = join(folder.path, "other");
    const linesOfOther = () => linesFor({ ...settings, HOLT_WAL_ARCHIVE: other });
    const [missing = ""] = await linesOfOther();
    assert.match(missing, /^archive: .*there is no folder .*other/);
    await mkdir(other);
    const [line = "", ...others] = await linesOfOther();
    assert.match(line, /^archive: .*other has no copy of the database/);
    assert.deepEqual(others, []);
    await until(() => copyFolder(archive.HOLT_WAL_ARCHIVE, join(folder.path, "copy")));
    using database = new DatabaseSync(join(server.dataDir, "holt.db"), { timeout: 5000 });
    database.exec("create table added (id integer)");
    const [late = "", ...more] = await linesFor({ ...settings, HOLT_WAL_ARCHIVE: join(folder.path, "copy") });
    assert.match(late, /^archive: .*copy lacks the latest changes/);
    assert.deepEqual(more, []);
  });

  test("a database that cannot be reached is reported without its password", async () => {
    await using folder = await temporaryFolder();
    const url = new URL(await createDatabase());
    url.port = "1";
    url.password = "hidden-password";
    const { stdout } = await runHoltd(["doctor"], { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: url.href });
    assert.match(stdout, /^database: the database cannot be read: .*Remedy: check HOLT_DATABASE_URL/m);
    assert.ok(!stdout.includes("hidden-password"));
  });

  test("a proxy that decodes %2F, drops HTTP/2 and the Authorization header is reported", async () => {
    await using folder = await temporaryFolder();
    const port = await freePort();
    await using proxy = await startProxy(port, (path, headers) => {
      delete headers.authorization;
      return decodeURIComponent(path);
    });
    const settings = { HOLT_BASE_URL: proxy.url, HOLT_LISTEN: `127.0.0.1:${port}`, HOLT_DATA_DIR: join(folder.path, "data") };
    await using _server = await startHoltd(settings);
    const [path = "", header = "", http2 = "", ...others] = await linesFor(settings);
    assert.equal(path, 'proxy: the path /healthz/path/a%2Fb arrives as "/healthz/path/a/b"');
    assert.equal(header, "proxy: the header Authorization does not arrive");
    assert.match(http2, /^proxy: HTTP\/2 does not reach the server/);
    assert.deepEqual(others, []);
  });

  test("a proxy whose certificate expires soon, and that answers gRPC by itself, is reported", async () => {
    await using server = await startServer();
    const { cert, private: key } = await generate([{ name: "commonName", value: "Proxy of the doctor" }], {
      notAfterDate: new Date(Date.now() + 7.5 * 24 * 3_600_000),
      extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
    } as never);
    setDefaultCACertificates([...getCACertificates(), cert]);
    const proxy = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
      const url = `https://localhost:${(proxy.address() as AddressInfo).port}`;
      const isPath = request.url.startsWith("/healthz/path/");
      response.end(isPath ? request.url : JSON.stringify({ issuer: url, authorization: request.headers.authorization }));
    });
    await new Promise<void>((resolve) => proxy.listen(0, "localhost", resolve));
    try {
      const url = `https://localhost:${(proxy.address() as AddressInfo).port}`;
      assert.deepEqual(await linesFor({ ...settingsOf(server), HOLT_BASE_URL: url }), [
        "certificate: the certificate expires in 7 days",
        "proxy: gRPC calls reach no gRPC server, or their trailers are lost",
      ]);
    } finally {
      proxy.close();
    }
  });

  test("a proxy that does not reach the server, or offers no HTTP/2 over TLS, is reported with the remedy", async () => {
    await using server = await startServer();
    const { cert, private: key } = await generate([{ name: "commonName", value: "Gateway of the doctor" }], {
      extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
    } as never);
    setDefaultCACertificates([...getCACertificates(), cert]);
    let status = 502;
    const proxy = createTlsServer({ cert, key, ALPNProtocols: ["http/1.1"] }, (incoming, response) => {
      const url = `https://localhost:${(proxy.address() as AddressInfo).port}`;
      const isPath = incoming.url?.startsWith("/healthz/path/") ?? false;
      response.statusCode = status;
      const text = JSON.stringify({ issuer: url, authorization: incoming.headers.authorization });
      response.end(status === 502 ? "bad gateway" : isPath ? incoming.url : text);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "localhost", resolve));
    try {
      const url = `https://localhost:${(proxy.address() as AddressInfo).port}`;
      const settings = { ...settingsOf(server), HOLT_BASE_URL: url };
      const [gateway] = (await findProblems(readConfig(settings))).filter(({ check }) => check === "base URL");
      assert.match(gateway?.problem ?? "", /it answers 502 without an issuer$/);
      assert.match(gateway?.remedy ?? "", /^start the server, or correct the address/);
      status = 200;
      assert.deepEqual(await linesFor(settings), ["proxy: HTTP/2 does not reach the server: it is not offered over TLS"]);
    } finally {
      proxy.closeAllConnections();
      proxy.close();
    }
  });

  test("a base URL that leads to another server is reported", async () => {
    await using server = await startServer();
    await using proxy = await startProxy(server.port, (path) => path);
    const [line = "", ...others] = await linesFor({ ...settingsOf(server), HOLT_BASE_URL: proxy.url });
    assert.equal(line, `base URL: ${proxy.url} does not lead to this server: the issuer there is ${server.baseUrl}`);
    assert.deepEqual(others, []);
  });

  test("certificates that expire, have expired or are for another host are reported", async () => {
    const notBeforeDate = new Date("2026-01-01T00:00:00Z");
    const notAfterDate = new Date("2026-12-31T00:00:00Z");
    const { cert } = await generate([{ name: "commonName", value: "holt.test" }], {
      notBeforeDate,
      notAfterDate,
      extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "holt.test" }] }],
    } as never);
    const certificate = new X509Certificate(cert);
    const at = (day: string, host = "holt.test") =>
      problemsOfCertificate(certificate, { host, renew: "renew it" }, new Date(day)).map(({ problem }) => problem);
    assert.deepEqual(at("2026-06-01"), []);
    assert.deepEqual(at("2026-12-24"), ["the certificate expires in 7 days"]);
    assert.equal(at("2027-01-01").length, 1);
    assert.equal(at("2025-12-01").length, 1);
    assert.match(at("2026-06-01", "other.test")[0] ?? "", /^the certificate is not for other\.test/);
  });
});
