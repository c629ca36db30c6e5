/** Tests the files of deploy/ and the Containerfile, each with its tool where this machine has it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { Ajv } from "ajv";
import { parse, parseAllDocuments } from "yaml";
import { settings } from "../../src/config.ts";
import { builtProgram, removeBuiltProgram, root, runScript } from "../harness/built-program.ts";
import { freePort } from "../harness/free-port.ts";
import { hasProgram } from "../harness/has-program.ts";
import { startProgram, temporaryFolder, untilReady } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

const run = promisify(execFile);
const deploy = join(root, "deploy");
const chart = join(deploy, "helm/holt");
const without = (name: string) => (hasProgram(name) ? false : `${name} is not installed`);
/** Serves metrics; the chart sets it only where metrics are enabled. */
const METRICS = "HOLT_METRICS_LISTEN";

interface Manifest {
  readonly kind: string;
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly [{ readonly env: readonly { name: string }[] }] } };
  };
}

const ALL_VALUES = {
  replicas: 2,
  baseUrl: "https://holt.example.com",
  settings: { HOLT_LOG_LEVEL: "warn", HOLT_MAX_SUBSCRIPTIONS: 10 },
  database: { urlSecret: { name: "holt-database" } },
  secretFiles: { HOLT_SECRETS_KEY: { name: "holt", key: "secrets-key" } },
  ingress: { enabled: true, className: "nginx", tlsSecret: "holt-tls" },
  gateway: { enabled: true, parentRefs: [{ name: "gateway" }] },
  podDisruptionBudget: { enabled: true },
  networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }] },
  metrics: { enabled: true, serviceMonitor: { enabled: true } },
};

/** @returns the manifests; rejects if helm refuses the values */
async function renderChart(values: unknown): Promise<Manifest[]> {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "values.json");
  await writeFile(file, JSON.stringify(values));
  const { stdout } = await run("helm", ["template", "test", chart, "--kube-version", "1.31.0", "-f", file]);
  await run("helm", ["lint", "--strict", "--kube-version", "1.31.0", "-f", file, chart]);
  return parseAllDocuments(stdout).flatMap((document) => (document.contents === null ? [] : [document.toJS() as Manifest]));
}

describe("deploy", () => {
  test("every setting that the files of deploy name exists", async () => {
    const known = new Set([...Object.values(settings).flatMap(({ env }) => [env, `${env}_FILE`]), "HOLT_CONFIG", METRICS, "HOLT_IMAGE"]);
    const files = (await readdir(deploy, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    for (const path of [join(root, "Containerfile"), ...files.map(({ parentPath, name }) => join(parentPath, name))])
      for (const [name] of (await readFile(path, "utf8")).matchAll(/\bHOLT_[A-Z][A-Z_]*[A-Z]\b/g))
        assert.ok(known.has(name), `${path}: ${name}`);
  });

  test("the chart's schema accepts its values with a base URL, and refuses unknown ones", async () => {
    const schema = JSON.parse(await readFile(join(chart, "values.schema.json"), "utf8")) as object;
    const values = parse(await readFile(join(chart, "values.yaml"), "utf8")) as Record<string, unknown>;
    const validate = new Ajv({ strict: false }).compile(schema);
    assert.ok(validate({ ...values, baseUrl: "https://holt.example.com" }), JSON.stringify(validate.errors));
    for (const wrong of [
      values,
      { ...ALL_VALUES, replica: 2 },
      { ...ALL_VALUES, settings: { LOG: "x" } },
      { ...ALL_VALUES, baseUrl: "holt" },
    ])
      assert.ok(!validate(wrong), JSON.stringify(wrong));
    const properties = (schema as { properties: Record<string, unknown> }).properties;
    assert.deepEqual(
      Object.keys(values).filter((name) => !Object.hasOwn(properties, name)),
      [],
    );
  });

  test("helm renders the chart with the fewest values and with all", { skip: without("helm") }, async () => {
    const kinds = (manifests: readonly Manifest[]) => manifests.map(({ kind }) => kind).sort();
    const few = await renderChart({ baseUrl: "https://holt.example.com" });
    assert.deepEqual(kinds(few), ["Deployment", "PersistentVolumeClaim", "Service", "ServiceAccount"]);
    const all = await renderChart(ALL_VALUES);
    const added = ["HTTPRoute", "Ingress", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceMonitor"];
    assert.deepEqual(kinds(all), [...kinds(few), ...added].sort());
    const deployment = all.find(({ kind }) => kind === "Deployment");
    const names = deployment?.spec?.template?.spec.containers[0].env.map(({ name }) => name) ?? [];
    for (const name of ["HOLT_BASE_URL", "HOLT_DATABASE_URL_FILE", "HOLT_SECRETS_KEY_FILE", "HOLT_LOG_LEVEL", METRICS])
      assert.ok(names.includes(name), name);
    await assert.rejects(renderChart({ baseUrl: "https://holt.example.com", replicas: 2 }), /several replicas need database\.urlSecret/);
    await assert.rejects(renderChart({}), /baseUrl/);
  });

  test("docker compose accepts the compose file", { skip: without("docker") }, async (context) => {
    const args = ["compose", "-f", join(deploy, "compose/compose.yaml"), "config", "--quiet"];
    const hasCompose = await run("docker", ["compose", "version"]).then(
      () => true,
      () => false,
    );
    if (!hasCompose) return context.skip("docker has no compose");
    await run("docker", args, { env: { ...process.env, HOLT_BASE_URL: "http://127.0.0.1:8080" } });
  });

  test("caddy accepts its example", { skip: without("caddy") }, async () => {
    await run("caddy", ["validate", "--adapter", "caddyfile", "--config", join(deploy, "proxies/Caddyfile")]);
  });

  test("nginx accepts its example", { skip: without("nginx") || without("openssl") }, async (context) => {
    await using folder = await temporaryFolder();
    const { stderr: version } = await run("nginx", ["-v"]);
    const [, major = 0, minor = 0, patch = 0] = (/(\d+)\.(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
    if (major * 1e6 + minor * 1e3 + patch < 1_025_001) return context.skip(`${version.trim()} is older than 1.25.1`);
    const key = ["-keyout", join(folder.path, "privkey.pem"), "-out", join(folder.path, "fullchain.pem")];
    await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=holt.example.com", ...key]);
    const text = (await readFile(join(deploy, "proxies/nginx.conf"), "utf8")).replaceAll("/etc/ssl/holt", folder.path);
    const file = join(folder.path, "nginx.conf");
    await writeFile(file, `pid ${folder.path}/pid;\nerror_log stderr;\nevents {}\nhttp {\n${text}}\n`);
    await run("nginx", ["-t", "-p", folder.path, "-c", file]);
  });

  describe("the image", { skip: without("podman") }, () => {
    const base = process.env.HOLT_TEST_BASE_IMAGE ?? "debian:stable-slim";
    const image = `holt-test-${process.pid}`;
    const succeeds = async (...args: string[]) =>
      await run("podman", args).then(
        () => true,
        () => false,
      );
    let missing: string | undefined;
    before(async () => {
      if (await succeeds("image", "exists", base)) await buildImage(base, image);
      else missing = `the base image ${base} is not on this machine; HOLT_TEST_BASE_IMAGE names another`;
    });
    after(async () => {
      await succeeds("rmi", "-f", image);
      await removeBuiltProgram();
    });

    test("the image names its user, its signal and its labels, and its program serves as that user", async (context) => {
      if (missing !== undefined) return context.skip(missing);
      if (without("buildah")) return context.skip("buildah is not installed");
      const [{ User, Config }] = JSON.parse((await run("podman", ["inspect", image])).stdout) as [ImageDescription];
      assert.deepEqual([User, Config.StopSignal], ["65532:65532", "SIGTERM"]);
      assert.equal(Config.Labels["org.opencontainers.image.title"], "Holt");
      const { stdout } = await run("buildah", ["from", image]);
      const container = stdout.trim();
      const listen = `HOLT_LISTEN=127.0.0.1:${await freePort()}`;
      // Works where the kernel lets nobody create containers. The container has the network of this machine.
      const inContainer = (...command: string[]) => ["run", "--isolation", "chroot", "--env", listen, container, "--", ...command];
      try {
        assert.equal((await run("buildah", inContainer("id", "-u"))).stdout.trim(), "65532");
        const server = startProgram("buildah", inContainer("/usr/bin/holtd"), { HOME: process.env.HOME ?? "/" });
        try {
          await untilReady(server);
          await run("buildah", inContainer("/usr/bin/holtd", "health"));
        } finally {
          server.kill("SIGTERM");
          await server.ended;
        }
      } finally {
        await run("buildah", ["rm", container]);
      }
    });

    test("the image runs with a read-only root file system, and stops on SIGTERM", async (context) => {
      if (missing !== undefined) return context.skip(missing);
      if (!(await succeeds("run", "--rm", "--entrypoint", "/bin/true", image))) return context.skip("podman cannot run containers here");
      const port = await freePort();
      try {
        const options = ["--rm", "-d", "--name", image, "--read-only", "--cap-drop=all", "-p", `127.0.0.1:${port}:8080`];
        await run("podman", ["run", ...options, "-e", `HOLT_BASE_URL=http://127.0.0.1:${port}`, image]);
        await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200);
        await run("podman", ["healthcheck", "run", image]);
        assert.equal((await run("podman", ["exec", image, "id", "-u"])).stdout, "65532\n");
        const stopped = run("podman", ["wait", image]);
        await run("podman", ["kill", "--signal", "TERM", image]);
        assert.equal((await stopped).stdout, "0\n");
      } finally {
        await succeeds("rm", "-f", image);
      }
    });
  });
});

interface ImageDescription {
  readonly User: string;
  readonly Config: { readonly StopSignal: string; readonly Labels: Readonly<Record<string, string>> };
}

async function buildImage(base: string, image: string): Promise<void> {
  const folder = await builtProgram();
  await mkdir(join(folder, "image/release"), { recursive: true });
  await runScript("build-executable.js", ["--dist", join(folder, "dist"), join(folder, "image/release/holtd")]);
  for (const name of ["LICENSE", "Containerfile"]) await writeFile(join(folder, "image", name), await readFile(join(root, name)));
  const options = ["--isolation", "chroot", "--format", "docker", "--build-arg", `BASE=${base}`];
  await run("podman", ["build", ...options, "-t", image, join(folder, "image")]);
}
