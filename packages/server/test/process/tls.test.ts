/** holtd with a certificate serves REST and gRPC over TLS on its one port, and no clear text. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { get as httpGet } from "node:http";
import { get as httpsGet } from "node:https";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { generate } from "selfsigned";
import { freePort } from "../harness/free-port.ts";
import { printedToken, runHoltd, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

test("a server with a certificate and its key serves REST and gRPC over TLS only", async () => {
  await using folder = await temporaryFolder();
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
  } as never);
  const [HOLT_TLS_CERT, HOLT_TLS_KEY] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
  await writeFile(HOLT_TLS_CERT, cert);
  await writeFile(HOLT_TLS_KEY, key);
  const settings = { HOLT_DATA_DIR: join(folder.path, "data"), HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_TLS_CERT, HOLT_TLS_KEY };
  await using server = await startHoltd(settings);
  assert.match(server.baseUrl, /^https:/);
  assert.match(server.stdout(), /^Holt is ready at https:\/\/127\.0\.0\.1:/);
  const token = await printedToken(settings);
  const authorization = `Bearer ${token}`;

  const text = await new Promise<string>((resolve, reject) => {
    httpsGet(`${server.baseUrl}/iam/v2/groups?uidp.in_root=true`, { ca: cert, headers: { authorization } }, (answer) => {
      let all = "";
      answer.setEncoding("utf8").on("data", (chunk) => (all += chunk));
      answer.on("end", () => resolve(all));
    }).on("error", reject);
  });
  const { groups } = JSON.parse(text) as { groups: { uid: string }[] };
  assert.equal(groups.length, 1);

  const client = createClient(GroupsService, createGrpcTransport({ baseUrl: server.baseUrl, nodeOptions: { ca: cert } }));
  const group = await client.getGroup({ uid: groups[0]?.uid ?? "" }, { headers: { authorization } });
  assert.equal(group.uid, groups[0]?.uid);

  await assert.rejects(new Promise((resolve, reject) => httpGet(`http://127.0.0.1:${server.port}/healthz`, resolve).on("error", reject)));
});

test("holtd names a certificate that it cannot read and exits with code 1", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "cert.pem");
  const settings = {
    HOLT_DATA_DIR: join(folder.path, "data"),
    HOLT_TLS_CERT: file,
    HOLT_TLS_KEY: file,
    HOLT_LISTEN: `127.0.0.1:${await freePort()}`,
  };
  const missing = await runHoltd([], settings);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /^holtd: cannot use the certificate of HOLT_TLS_CERT .*: ENOENT/m);
  assert.ok(missing.stderr.includes(file), missing.stderr);
  await writeFile(file, "not a certificate");
  const broken = await runHoltd([], settings);
  assert.equal(broken.code, 1);
  assert.match(broken.stderr, /^holtd: cannot use the certificate of HOLT_TLS_CERT .* and HOLT_TLS_KEY /m);
  assert.doesNotMatch(broken.stderr, /\n {4}at /);
});

test("a server with an expired certificate starts, and warns in its log", async () => {
  await using folder = await temporaryFolder();
  const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
    notBeforeDate: new Date("2026-01-01T00:00:00Z"),
    notAfterDate: new Date("2026-01-02T00:00:00Z"),
  });
  const [HOLT_TLS_CERT, HOLT_TLS_KEY] = [join(folder.path, "cert.pem"), join(folder.path, "key.pem")];
  await writeFile(HOLT_TLS_CERT, cert);
  await writeFile(HOLT_TLS_KEY, key);
  await using server = await startHoltd({ HOLT_DATA_DIR: join(folder.path, "data"), HOLT_TLS_CERT, HOLT_TLS_KEY });
  await until(() =>
    /"expired":"2026-01-02T00:00:00\.000Z","msg":"the TLS certificate has expired: clients refuse it"/.test(server.stderr()),
  );
});

test("a base URL without TLS is refused beside a certificate", async () => {
  await using folder = await temporaryFolder();
  const settings = {
    HOLT_DATA_DIR: folder.path,
    HOLT_TLS_CERT: "cert.pem",
    HOLT_TLS_KEY: "key.pem",
    HOLT_BASE_URL: "http://holt.example.com",
  };
  const { code, stderr } = await runHoltd(["config", "check"], settings);
  assert.equal(code, 2);
  assert.match(stderr, /\nHOLT_BASE_URL must begin with https:\/\/ if HOLT_TLS_CERT is set/);
});
