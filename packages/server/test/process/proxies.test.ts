/** Tests a real server behind the examples for Caddy and nginx, where these are installed: every protocol works through them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { generate } from "selfsigned";
import { root } from "../harness/built-program.ts";
import { freePort } from "../harness/free-port.ts";
import { hasProgram } from "../harness/has-program.ts";
import { get, type Process, printedToken, runHoltd, startHoltd, startProgram, temporaryFolder } from "../harness/holtd.ts";
import { pushAndRead } from "../harness/push-and-read.ts";
import { until } from "../harness/wait.ts";

/** Larger than what nginx takes by default. */
const LARGE_BODY_BYTES = 20_000_000;

interface Place {
  /** Has cert.pem and key.pem. */
  readonly folder: string;
  /** Of the proxy. */
  readonly port: number;
  /** Of the server. */
  readonly target: number;
}

const example = async (name: string, target: number) =>
  (await readFile(join(root, "deploy/proxies", name), "utf8")).replaceAll("127.0.0.1:8080", `127.0.0.1:${target}`);

async function startCaddy({ folder, port, target }: Place): Promise<Process> {
  const site = `https://localhost:${port} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`;
  const text = (await example("Caddyfile", target)).replace("holt.example.com {", site);
  await writeFile(join(folder, "Caddyfile"), `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${text}`);
  const folders = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return startProgram("caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")], folders);
}

/** Before 1.25.1, HTTP/2 is a parameter of `listen`. */
const hasHttp2Directive = () => {
  const [, major = 0, minor = 0, patch = 0] = (/(\d+)\.(\d+)\.(\d+)/.exec(nginxVersion()) ?? []).map(Number);
  return major * 1e6 + minor * 1e3 + patch >= 1_025_001;
};
const nginxVersion = () => execFileSync("sh", ["-c", "nginx -v 2>&1"], { encoding: "utf8" });

async function startNginx({ folder, port, target }: Place): Promise<Process> {
  const isNew = hasHttp2Directive();
  const text = (await example("nginx.conf", target))
    .replace(/^ *listen \[::\].*\n/m, "")
    .replace("listen 443 ssl;", `listen 127.0.0.1:${port} ssl${isNew ? "" : " http2"};`)
    .replace(/^ *http2 on;\n/m, (line) => (isNew ? line : ""))
    .replace("server_name holt.example.com", "server_name localhost")
    .replace("/etc/ssl/holt/fullchain.pem", join(folder, "cert.pem"))
    .replace("/etc/ssl/holt/privkey.pem", join(folder, "key.pem"));
  const scratch = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`);
  const http = ["access_log off;", ...scratch, text].join("\n");
  const file = join(folder, "nginx.conf");
  await writeFile(file, `daemon off;\npid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${http}}\n`);
  return startProgram("nginx", ["-p", folder, "-e", "stderr", "-c", file], {});
}

/** SIGTERM also ends the workers of nginx; SIGKILL would leave them. */
async function stop(proxy: Process): Promise<void> {
  proxy.kill("SIGTERM");
  await proxy.ended;
}

const proxies = { caddy: startCaddy, nginx: startNginx } as const;

for (const [name, start] of Object.entries(proxies))
  describe(`behind ${name}`, { skip: hasProgram(name) ? false : `${name} is not installed` }, () => {
    test(`REST, gRPC, escaped paths and large uploads reach the server behind ${name}, and holtd doctor finds no problem`, async () => {
      await using folder = await temporaryFolder();
      // If several self-signed certificates have the same name, OpenSSL tries only one of them.
      const { cert, private: key } = await generate([{ name: "commonName", value: `Holt behind ${name}` }], {
        extensions: [{ name: "subjectAltName", altNames: [{ type: 2, value: "localhost" }] }],
      } as never);
      const ca = join(folder.path, "cert.pem");
      await writeFile(ca, cert);
      await writeFile(join(folder.path, "key.pem"), key);
      setDefaultCACertificates([...getCACertificates(), cert]);
      const [port, target] = [await freePort(), await freePort()];
      const settings = {
        HOLT_DATA_DIR: join(folder.path, "data"),
        HOLT_LISTEN: `127.0.0.1:${target}`,
        HOLT_BASE_URL: `https://localhost:${port}`,
        HOLT_TRUSTED_PROXIES: "127.0.0.1",
        NODE_EXTRA_CA_CERTS: ca,
      };
      await using server = await startHoltd(settings);
      const proxy = await start({ folder: folder.path, port, target });
      try {
        await until(async () => (await fetch(`${server.baseUrl}/readyz`).catch(() => undefined))?.status === 200);
        const doctor = await runHoltd(["doctor"], settings);
        assert.doesNotMatch(doctor.stdout, /^(proxy|base URL|certificate|DNS): /m, doctor.stdout);
        const token = await printedToken(settings);
        const [org] = ((await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token)).json as { groups: { uid: string }[] }).groups;

        const grpc = createGrpcTransport({ baseUrl: server.baseUrl, nodeOptions: { ca: cert } });
        const groups = createClient(GroupsService, grpc);
        const headers = { authorization: `Bearer ${token}` };
        const { uid } = await groups.createGroup({ parent: org?.uid ?? "", group: { name: "behind a proxy" } }, { headers });
        assert.match(uid, /\//);
        const escaped = await get(server.baseUrl, `/iam/v2/groups/${encodeURIComponent(uid)}`, token);
        assert.equal((escaped.json as { uid: string }).uid, uid);
        await assert.rejects(groups.getGroup({ uid: "0".repeat(40) }, { headers }), /\[not_found\]/);

        await pushAndRead(server.baseUrl, token);
        await uploadBlob(server.baseUrl, headers, randomBytes(LARGE_BODY_BYTES));
      } finally {
        await stop(proxy);
      }
    });
  });

async function uploadBlob(baseUrl: string, headers: Record<string, string>, body: Uint8Array<ArrayBuffer>): Promise<void> {
  const begun = await fetch(`${baseUrl}/v2/my-org/app/blobs/uploads/`, { method: "POST", headers });
  const location = new URL(begun.headers.get("location") ?? "", baseUrl);
  assert.equal(location.origin, baseUrl);
  location.searchParams.set("digest", `sha256:${createHash("sha256").update(body).digest("hex")}`);
  const type = { "content-type": "application/octet-stream" };
  const answer = await fetch(location, { method: "PUT", headers: { ...headers, ...type }, body });
  assert.equal(answer.status, 201, await answer.text());
}
