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
import { importBaseImage } from "../harness/base-image.ts";
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

async function succeeds(program: string, ...args: readonly string[]): Promise<boolean> {
  return await run(program, args).then(
    () => true,
    () => false,
  );
}

interface Manifest {
  readonly kind: string;
  readonly spec?: {
    readonly jobLabel?: string;
    readonly strategy?: { readonly type: string };
    readonly template?: {
      readonly spec: {
        readonly containers: readonly [{ readonly env: readonly { name: string; value?: string }[] }];
        readonly volumes: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
      };
    };
  };
}

const ALL_VALUES = {
  replicas: 2,
  baseUrl: "https://holt.example.com",
  settings: { HOLT_LOG_LEVEL: "warn", HOLT_MIN_FREE_DISK: 1_073_741_824, HOLT_S3_ENDPOINT: "https://s3.example.com" },
  extraVolumes: [{ name: "ca", configMap: { name: "ca" } }],
  extraVolumeMounts: [{ name: "ca", mountPath: "/etc/ca" }],
  extraEnv: [{ name: "AWS_ACCESS_KEY_ID", valueFrom: { secretKeyRef: { name: "s3", key: "id" } } }],
  database: { urlSecret: { name: "holt-database" } },
  secretFiles: { HOLT_SECRETS_KEY: { name: "holt", key: "secrets-key" } },
  ingress: { enabled: true, className: "nginx", tlsSecret: "holt-tls" },
  gateway: { enabled: true, parentRefs: [{ name: "gateway" }] },
  podDisruptionBudget: { enabled: true },
  networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }] },
  metrics: { enabled: true, serviceMonitor: { enabled: true } },
};

const BASE_URL = "https://holt.example.com";

async function renderDeployment(values: object): Promise<NonNullable<Manifest["spec"]>> {
  const deployment = (await renderChart({ baseUrl: BASE_URL, ...values })).find(({ kind }) => kind === "Deployment");
  assert.ok(deployment?.spec);
  return deployment.spec;
}

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
    assert.ok(validate(ALL_VALUES), JSON.stringify(validate.errors));
    const everySetting = Object.fromEntries(Object.values(settings).map(({ env }) => [env, "x"]));
    assert.ok(validate({ ...ALL_VALUES, settings: everySetting }), JSON.stringify(validate.errors));
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
    const env = new Map(deployment?.spec?.template?.spec.containers[0].env.map(({ name, value }) => [name, value]));
    for (const name of ["HOLT_BASE_URL", "HOLT_DATABASE_URL_FILE", "HOLT_SECRETS_KEY_FILE", "HOLT_LOG_LEVEL", "AWS_ACCESS_KEY_ID", METRICS])
      assert.ok(env.has(name), name);
    assert.equal(env.get("HOLT_MIN_FREE_DISK"), "1073741824");
    await assert.rejects(renderChart({ baseUrl: "https://holt.example.com", replicas: 2 }), /several replicas need database\.urlSecret/);
    await assert.rejects(renderChart({}), /baseUrl/);
  });

  test("the chart stops the old server first where only one server can use the volume", { skip: without("helm") }, async () => {
    const database = { urlSecret: { name: "holt-database" } };
    const strategyOf = async (values: object) => (await renderDeployment(values)).strategy?.type;
    assert.equal(await strategyOf({}), "Recreate");
    assert.equal(await strategyOf({ database }), "Recreate", "a volume of one node");
    assert.equal(await strategyOf({ database, persistence: { accessModes: ["ReadWriteMany"] } }), undefined);
    assert.equal(await strategyOf({ database, persistence: { existingClaim: "shared" } }), undefined);
  });

  test("the chart runs servers with content in S3 without a volume, and refuses others", { skip: without("helm") }, async () => {
    const values = {
      replicas: 3,
      database: { urlSecret: { name: "holt-database" } },
      settings: { HOLT_BLOBS: "s3://blobs/holt" },
      secretFiles: { HOLT_SECRETS_KEY: { name: "holt", key: "secrets-key" } },
      persistence: { enabled: false },
    };
    const manifests = await renderChart({ baseUrl: BASE_URL, ...values });
    assert.ok(!manifests.some(({ kind }) => kind === "PersistentVolumeClaim"));
    const { strategy, template } = await renderDeployment(values);
    assert.equal(strategy, undefined);
    assert.deepEqual(template?.spec.volumes[0], { name: "data", emptyDir: {} });
    for (const missing of [{ settings: {} }, { secretFiles: {} }, { database: {}, replicas: 1 }])
      await assert.rejects(renderDeployment({ ...values, ...missing }), /without persistence, data and keys need other places/);
  });

  test("the chart sets each variable once, and names the value of settings that it sets itself", { skip: without("helm") }, async () => {
    const { template } = await renderDeployment({ settings: { HOLT_LISTEN: "0.0.0.0:8080" } });
    const env = template?.spec.containers[0].env.filter(({ name }) => name === "HOLT_LISTEN");
    assert.deepEqual(env, [{ name: "HOLT_LISTEN", value: "0.0.0.0:8080" }]);
    await assert.rejects(
      renderDeployment({ settings: { HOLT_STOP_DELAY: "30s" } }),
      /set stopDelaySeconds instead of settings\.HOLT_STOP_DELAY/,
    );
    await assert.rejects(renderDeployment({ settings: { HOLT_BASE_URL: BASE_URL } }), /set baseUrl instead of settings\.HOLT_BASE_URL/);
  });

  test("metrics of the chart have the job that the alerts expect", { skip: without("helm") }, async () => {
    const manifests = await renderChart({ baseUrl: BASE_URL, metrics: { enabled: true, serviceMonitor: { enabled: true } } });
    assert.equal(manifests.find(({ kind }) => kind === "ServiceMonitor")?.spec?.jobLabel, "app.kubernetes.io/name");
    const { name } = parse(await readFile(join(chart, "Chart.yaml"), "utf8")) as { name: string };
    assert.equal(name, "holt", "the label has the name of the chart");
  });

  test("compose accepts the compose file, and refuses to start it without a base URL", async (context) => {
    const candidates = [["docker", "compose"], ["podman-compose"]] as const;
    // Docker without the plugin explains itself for `compose config --help`, and podman-compose of Debian 12 has no `config`.
    const works = await Promise.all(
      candidates.map(async ([program, ...args]) => {
        return (await succeeds(program, ...args, "version")) && (await succeeds(program, ...args, "config", "--help"));
      }),
    );
    const [program, ...args] = candidates.find((_, index) => works[index]) ?? [];
    if (program === undefined) return context.skip("neither docker compose nor a podman-compose with `config` is installed");
    const { HOLT_BASE_URL: _, ...env } = process.env;
    const config = [...args, "-f", join(deploy, "compose/compose.yaml"), "config"];
    const { stdout } = await run(program, config, { env: { ...env, HOLT_BASE_URL: "http://127.0.0.1:8080" } });
    const { services } = parse(stdout) as { services: Record<string, unknown> };
    assert.deepEqual(Object.keys(services).sort(), ["holt", "postgres"]);
    await assert.rejects(run(program, config, { env }), /HOLT_BASE_URL/);
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
    await writeFile(file, `pid ${folder.path}/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n${text}}\n`);
    await run("nginx", ["-t", "-e", "stderr", "-p", folder.path, "-c", file]);
  });

  describe("the image", { skip: without("podman") || without("ldd") }, () => {
    const image = `localhost/holt-test-${process.pid}`;
    const ownBase = `${image}-base`;
    /** Why there is no base image. */
    let missing: string | undefined;
    before(async () => {
      const { HOLT_TEST_BASE_IMAGE: base = ownBase } = process.env;
      if (base === ownBase) missing = await importBaseImage(ownBase).then(() => undefined, String);
      if (missing === undefined) await buildImage(base, image);
    });
    after(async () => {
      for (const name of [image, ownBase]) await succeeds("podman", "rmi", "-f", name);
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
      const way = await findWay(image);
      if (way === undefined) return context.skip("podman cannot run containers here");
      const podman = (...args: string[]) => run("podman", [...way.engine, ...args]);
      const name = image.replace("localhost/", "");
      const port = await freePort();
      try {
        const options = ["--rm", "-d", "--name", name, "--read-only", "--read-only-tmpfs=false", "--cap-drop=all", ...way.options(port)];
        await podman("run", ...options, "-e", `HOLT_BASE_URL=http://127.0.0.1:${port}`, image);
        await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status === 200);
        await podman("healthcheck", "run", name);
        assert.equal((await podman("exec", name, "id", "-u")).stdout, "65532\n");
        await assert.rejects(podman("exec", name, "sh", "-c", "echo > /file"), /Read-only file system/);
        const stopped = podman("wait", name);
        await podman("kill", "--signal", "TERM", name);
        assert.equal((await stopped).stdout, "0\n");
      } finally {
        await podman("rm", "-f", name).catch(() => {});
      }
    });
  });
});

/** How podman runs containers on this machine. */
interface Way {
  readonly engine: readonly string[];
  /** Options of a container that serves at the port of this machine. */
  options(port: number): readonly string[];
}

const WAYS: readonly Way[] = [
  { engine: [], options: (port) => ["-p", `127.0.0.1:${port}:8080`] },
  {
    // Without systemd, version 2 of cgroups, and the right to raise limits.
    engine: ["--cgroup-manager=cgroupfs", "--runtime=runc"],
    options: (port) => ["--network=host", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", "-e", `HOLT_LISTEN=127.0.0.1:${port}`],
  },
];

async function findWay(image: string): Promise<Way | undefined> {
  for (const way of WAYS) {
    const args = [...way.engine, "run", "--rm", ...way.options(await freePort()), "--entrypoint", "/bin/true", image];
    if (await succeeds("podman", ...args)) return way;
  }
  return undefined;
}

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
