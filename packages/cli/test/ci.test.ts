/** The documented steps of a job of GitHub Actions, with an issuer that signs tokens as GitHub does. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { basic, createRegistryClient } from "../../server/test/harness/registry/registry-client.ts";
import { type CommandLine, type CommandLineWorld, createCommandLine, PROGRAM, startCommandLineWorld } from "./harness.ts";

const run = promisify(execFile);
const SUBJECT = "repo:acme/shop:ref:refs/heads/main";
const REQUEST_TOKEN = "request-token-of-the-job";

/** The commands of the job in docs/cli.md. */
async function documentedSteps(): Promise<string[]> {
  const page = await readFile(join(import.meta.dirname, "../../../docs/cli.md"), "utf8");
  const [, yaml = ""] = /A job of GitHub Actions.*?```yaml\n(.*?)```/s.exec(page) ?? [];
  return [...yaml.matchAll(/^ *- run: (.*)$/gm)].map(([, command = ""]) => command);
}

describe("a job of GitHub Actions", () => {
  const world = {} as CommandLineWorld;
  let job: CommandLine;
  let identity: string;
  let host: string;
  const cleanUp = new AsyncDisposableStack();
  let environment: Readonly<Record<string, string>>;

  before(async () => {
    Object.assign(world, cleanUp.use(await startCommandLineWorld()));
    job = cleanUp.use(await createCommandLine());
    host = new URL(world.baseUrl).host;
    const group = await world.group(world.orgUid, "team-a");
    const claimMatch = { issuer: world.issuer, subject: SUBJECT };
    const { text } = await world.raw("POST", `/iam/v2/identities/${group}`, { name: "shop", claimMatch });
    identity = (JSON.parse(text) as { uid: string }).uid;
    await world.holt.must(["grant", identity, "registry.push", "team-a"]);
    const github = createServer(async (request, response) => {
      const isJob = request.headers.authorization === `Bearer ${REQUEST_TOKEN}`;
      const aud = new URL(request.url ?? "", "http://x").searchParams.get("audience");
      if (!isJob) return void response.writeHead(401).end();
      response.end(JSON.stringify({ value: await world.proofOf(SUBJECT, { aud }) }));
    });
    await new Promise<void>((resolve) => void github.listen(0, "127.0.0.1", resolve));
    cleanUp.defer(() => void github.close());
    const bin = join(job.folder, "bin");
    await mkdir(bin);
    for (const [name, path] of [
      ["holt", PROGRAM],
      ["docker-credential-holt", join(PROGRAM, "../docker-credential-holt.js")],
      ["node", process.execPath],
    ] as const)
      await symlink(path, join(bin, name));
    environment = job.environment({
      PATH: `${bin}:${process.env.PATH}`,
      IDENTITY: identity,
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${(github.address() as AddressInfo).port}/token?api-version=2`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
    });
  });
  after(() => cleanUp.disposeAsync());

  const shell = (command: string) => run("sh", ["-c", command], { env: environment, cwd: job.folder });
  const here = (command: string) => command.replaceAll("https://holt.example.com", world.baseUrl).replaceAll("holt.example.com", host);

  test("a GitHub Actions job signs in and may push after two of its three documented lines", async () => {
    const steps = (await documentedSteps()).map(here);
    assert.equal(steps.length, 3);
    assert.match(steps[2] ?? "", new RegExp(`^docker push ${host}/my-org/team-a/`));
    for (const step of steps.slice(0, 2)) await shell(step);
    const helper = run("docker-credential-holt", ["get"], { env: environment, cwd: job.folder });
    helper.child.stdin?.end(host);
    const { Username, Secret } = JSON.parse((await helper).stdout) as { Username: string; Secret: string };
    const answer = await fetch(`${world.baseUrl}/token?scope=repository:my-org/team-a/hello:pull,push`, {
      headers: { authorization: basic(Username, Secret) },
    });
    const { token } = (await answer.json()) as { token: string };
    using registry = createRegistryClient(world.baseUrl, `Bearer ${token}`);
    await registry.image("my-org/team-a/hello", "1.0");
    const config = await readFile(join(job.folder, ".docker/config.json"), "utf8");
    assert.ok(!config.includes(Secret), "docker's settings contain no password");
  });

  const hasSkopeo = spawnSync("skopeo", ["--version"]).status === 0;
  test("skopeo pushes with the login of the job", { skip: hasSkopeo ? false : "skopeo is not installed" }, async () => {
    const image = `docker://${host}/my-org/team-a`;
    const flags = "--src-tls-verify=false --dest-tls-verify=false --insecure-policy";
    await shell(`skopeo copy ${flags} ${image}/hello:1.0 ${image}/hello:2.0`);
    assert.match(await world.holt.must(["images", "ls", "my-org/team-a/hello"]), /^2\.0/m);
  });
});
