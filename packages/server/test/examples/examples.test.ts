/** Runs the programs in examples/ as their README says, each as a process of its own against a real server. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { startServer, type TestServer } from "../harness/harness.ts";
import { createRegistryClient, type RegistryClient } from "../harness/registry/registry-client.ts";
import { until } from "../harness/wait.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../examples");

type Environment = Readonly<Record<string, string>>;

interface Example extends AsyncDisposable {
  output(): string;
  readonly exitCode: Promise<number>;
}

function startExample(path: string, env: Environment): Example {
  const child = spawn(process.execPath, [join(EXAMPLES, path)], { env: { PATH: process.env.PATH ?? "", ...env } });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const exitCode = once(child, "close").then(([code]) => code as number);
  return {
    output: () => output,
    exitCode,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exitCode;
    },
  };
}

/** Runs an example to its end and returns what it printed. */
async function runExample(path: string, env: Environment): Promise<string> {
  await using example = startExample(path, env);
  assert.equal(await example.exitCode, 0, example.output());
  return example.output();
}

async function untilPrinted(example: Example, text: string): Promise<void> {
  await until(() => example.output().includes(text)).catch(() => {
    assert.fail(`the example did not print ${text}:\n${example.output()}`);
  });
}

describe("the examples", () => {
  let server: TestServer;
  let folder: string;
  before(async () => {
    server = await startServer({ env: { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8" } });
    folder = await mkdtemp(join(tmpdir(), "holt-examples-"));
  });
  after(async () => {
    await rm(folder, { recursive: true, force: true });
    await server[Symbol.asyncDispose]();
  });

  async function post<T>(path: string, body: unknown): Promise<T> {
    const { status, text } = await server.http("POST", path, JSON.stringify(body));
    assert.equal(status, 200, text);
    return JSON.parse(text) as T;
  }

  const createGroup = async (parent: string, name: string) => (await post<{ uid: string }>(`/iam/v2/groups/${parent}`, { name })).uid;

  it("ci-token-exchange creates an identity and calls the API as that identity", async () => {
    const group = await createGroup(server.orgUid, "builds");
    const other = await createGroup(server.orgUid, "other");
    const env = { API: server.baseUrl, CREDENTIALS: join(folder, "credentials.json") };

    const created = await runExample("ci-token-exchange/create-identity.mjs", { ...env, TOKEN: server.token, GROUP: group });
    const { identity } = JSON.parse(await readFile(env.CREDENTIALS, "utf8")) as { identity: string };
    assert.ok(created.includes(`created identity ${identity} with role viewer`), created);
    assert.equal((await stat(env.CREDENTIALS)).mode & 0o777, 0o600);

    const output = await runExample("ci-token-exchange/job.mjs", env);
    assert.ok(output.includes(`access token of ${identity} until `), output);
    assert.ok(output.includes(`group builds ${group}\n`), output);
    assert.ok(!output.includes(other), "the identity sees a group that it has no role in");
  });

  it("webhook-receiver prints the events of the server and rejects others", async () => {
    const port = await freePort();
    await using receiver = startExample("webhook-receiver/receiver.mjs", {
      API: server.baseUrl,
      ORG: server.orgUid,
      PORT: String(port),
    });
    await untilPrinted(receiver, `listening on ${port}\n`);
    const sink = `http://127.0.0.1:${port}/`;
    const { uid } = await post<{ uid: string }>(`/events/v2/subscriptions/${server.orgUid}`, { sink });
    await untilPrinted(receiver, `dev.holt.api.events.subscription.created.v1 ${uid} `);
    await post(`/holt/v1/subscriptions/${uid}:test`, {});
    await untilPrinted(receiver, `dev.holt.holt.test.v1 ${uid} `);

    const forged = await fetch(sink, {
      method: "POST",
      headers: { "ce-id": "1", "ce-type": "forged", authorization: `Bearer ${server.token}` },
      body: JSON.stringify({ body: {} }),
    });
    assert.equal(forged.status, 403);
    assert.ok(!receiver.output().includes("forged"), receiver.output());
  });

  it("list-everything prints groups, repos and tags as a tree, over several pages", async () => {
    const organization = (await post<{ uid: string }>("/iam/v2/groups", { name: "tree-org" })).uid;
    const team = await createGroup(organization, "team-a");
    await createGroup(organization, "team-b");
    const { uid: repo } = await post<{ uid: string }>(`/registry/v2/repos/${team}`, { name: "hello" });
    using registry: RegistryClient = createRegistryClient(server.baseUrl, `Bearer ${server.token}`);
    const { digest } = await registry.image(repo, "1.0");
    for (const name of ["1", "latest"]) await post(`/registry/v2/tags/${repo}`, { name, digest });

    const output = await runExample("list-everything/list-everything.mjs", {
      API: server.baseUrl,
      TOKEN: server.token,
      PAGE_SIZE: "2",
    });
    const tree = [
      "tree-org/",
      "├── team-a/",
      "│   └── hello",
      `│       ├── :1 ${digest}`,
      `│       ├── :1.0 ${digest}`,
      `│       └── :latest ${digest}`,
      "└── team-b/",
    ].join("\n");
    assert.ok(output.includes(tree), output);
  });

  for (const path of ["ci-token-exchange/job.mjs", "webhook-receiver/receiver.mjs", "list-everything/list-everything.mjs"]) {
    it(`${path} stops when it does not know the server`, async () => {
      await using example = startExample(path, {});
      assert.equal(await example.exitCode, 1);
      assert.match(example.output(), /Error: set API /);
    });
  }
});
