/** The package as users install it, in a project outside of the workspace. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { build } from "esbuild";
import { extract } from "tar-stream";
import { launchChromium } from "../../server/test/harness/sign-in/chromium.ts";
import { startWorld, type World } from "../../server/test/harness/world.ts";

const run = promisify(execFile);
const client = fileURLToPath(new URL("..", import.meta.url));
const root = join(client, "../..");
/** Node without the flags that run TypeScript. */
const plainNode = { ...process.env, NODE_OPTIONS: "" };

describe("the package", () => {
  let project: string;
  let world: World;
  before(async () => {
    project = await mkdtemp(join(tmpdir(), "holt-client-"));
    await install(project);
    world = await startWorld();
  });
  after(async () => {
    await world[Symbol.asyncDispose]();
    await rm(project, { recursive: true, force: true });
  });

  test("the examples in the README of @holt/client run", async () => {
    const { uid: identity } = await world.robot(world.orgUid, []);
    const tokenFile = join(project, "token");
    await writeFile(tokenFile, `${await world.robotProof()}\n`);
    const env = {
      ...plainNode,
      HOLT_URL: world.baseUrl,
      HOLT_TOKEN: world.token,
      HOLT_ORG: world.orgUid,
      HOLT_IDENTITY: identity,
      TOKEN_FILE: tokenFile,
    };
    const expected = [new RegExp(`^${world.orgUid} `), new RegExp(`^${identity}\n$`), /^INVALID_ARGUMENT name: .+\n$/];
    const readme = await readFile(join(client, "README.md"), "utf8");
    const examples = [...readme.matchAll(/```js\n(.*?)```/gs)].map(([, code = ""]) => code);
    assert.equal(examples.length, expected.length);
    for (const [index, code] of examples.entries()) {
      const file = join(project, `example-${index}.mjs`);
      await writeFile(file, code);
      const { stdout } = await run(process.execPath, [file], { env, cwd: project });
      assert.match(stdout, expected[index] as RegExp);
    }
  });

  test("the types of @holt/client fit the messages of the contract", async () => {
    await writeFile(
      join(project, "use.ts"),
      `import { createClient, fixedToken } from "@holt/client";
       import type { Group } from "@holt/client/messages/platform/iam/v2/groups_pb";
       const client = createClient({ baseUrl: "http://localhost", token: fixedToken("t") });
       export async function names(): Promise<string[]> {
         const found: string[] = [];
         for await (const group of client.iam.groups.listAll({ pageSize: 5 })) found.push((group satisfies Group).name);
         // @ts-expect-error the contract has no such field
         await client.iam.groups.getGroup({ id: "u" });
         return found;
       }`,
    );
    const options = {
      target: "es2024",
      lib: ["es2024", "dom"],
      module: "nodenext",
      strict: true,
      noEmit: true,
      skipLibCheck: false,
      types: [],
    };
    await writeFile(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files: ["use.ts"] }));
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [tsc, "-p", project]).catch((error: { stdout: string }) => error);
    assert.equal(stdout, "");
  });

  const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
    deno: ["run", "--quiet", "--no-lock", "--node-modules-dir=manual", "--allow-net", "--allow-env", "--allow-read"],
    bun: ["run"],
  };
  for (const [runtime, args] of Object.entries(RUNTIMES)) {
    const isInstalled = spawnSync(runtime, ["--version"]).status === 0;
    test(`@holt/client works in ${runtime}`, { skip: isInstalled ? false : `${runtime} is not installed` }, async () => {
      const { uid: identity } = await world.robot(world.orgUid, []);
      const file = join(project, `in-${runtime}.mjs`);
      const tokenFile = join(project, "token-of-robot");
      await writeFile(tokenFile, await world.robotProof());
      await writeFile(
        file,
        `import { createClient, exchangedToken, fixedToken, HoltError } from "@holt/client";
         import { awsProof } from "@holt/client/aws";
         import { fileToken } from "@holt/client/node";
         import { createRest } from "@holt/client/rest";
         const { HOLT_URL: baseUrl, HOLT_TOKEN, HOLT_IDENTITY: identity, TOKEN_FILE } = process.env;
         const token = fixedToken(HOLT_TOKEN);
         const client = createClient({ baseUrl, token });
         const names = [];
         for await (const { name } of client.iam.groups.listAll({ pageSize: 1 })) names.push(name);
         const { groups } = await createRest({ baseUrl, token }).call({ method: "GET", path: "/iam/v2/groups" });
         const robot = createClient({ baseUrl, token: exchangedToken(fileToken(TOKEN_FILE), { baseUrl, identity }) });
         const { subject } = await robot.v1.auth.auth.validate({});
         const code = await client.iam.groups.getGroup({ uid: "0".repeat(40) }).catch((e) => e instanceof HoltError && e.code);
         const credentials = async () => ({ accessKeyId: "a", secretAccessKey: "b" });
         const proof = atob((await awsProof({ audience: baseUrl, identity, credentials })()).token.replaceAll("-", "+").replaceAll("_", "/"));
         console.log(JSON.stringify([names.length === groups.length, subject, code, proof.split("\\r\\n")[0]]));`,
      );
      const env = { ...plainNode, HOLT_URL: world.baseUrl, HOLT_TOKEN: world.token, HOLT_IDENTITY: identity, TOKEN_FILE: tokenFile };
      const { stdout } = await run(runtime, [...args, file], { env, cwd: project });
      const line = "POST /?Action=GetCallerIdentity&Version=2011-06-15 HTTP/1.1";
      assert.deepEqual(JSON.parse(stdout), [true, identity, "NOT_FOUND", line]);
    });
  }

  test("@holt/client works in a browser", async (t) => {
    await using browser = await launchChromium();
    if (browser === undefined) return t.skip("Chromium does not start on this machine");
    await writeFile(
      join(project, "page.js"),
      `import { createClient, fixedToken } from "@holt/client";
       globalThis.namesOf = async (token) => {
         const client = createClient({ baseUrl: location.origin, token: fixedToken(token) });
         const names = [];
         for await (const { name } of client.iam.groups.listAll({ pageSize: 1 })) names.push(name);
         return names;
       };`,
    );
    const bundle = await build({ entryPoints: [join(project, "page.js")], bundle: true, format: "esm", write: false, logLevel: "silent" });
    const page = await browser.newPage();
    const url = `${world.baseUrl}/client-test`;
    const body = `<!doctype html><title>t</title><script type="module">${bundle.outputFiles[0]?.text}</script>`;
    await page.route(url, (route) => route.fulfill({ contentType: "text/html", body }));
    await page.goto(url);
    const names = await page.evaluate(
      (token) => (globalThis as never as { namesOf(token: string): Promise<string[]> }).namesOf(token),
      world.token,
    );
    const { groups } = JSON.parse((await world.raw("GET", "/iam/v2/groups")).text) as { groups: { name: string }[] };
    assert.deepEqual(
      names,
      groups.map(({ name }) => name),
    );
  });
});

/** Builds and packs the package, and unpacks it where npm would install it. Its dependencies are those of the workspace. */
async function install(project: string): Promise<void> {
  const dist = join(project, "dist");
  await run(process.execPath, [join(client, "build.js"), dist], { env: plainNode });
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", project, dist], { env: plainNode });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await unpack(await readFile(join(project, filename)), join(project, "node_modules/@holt/client"));
  await rm(dist, { recursive: true });
  for (const name of ["@bufbuild", "@connectrpc", "aws4fetch", "jose"])
    await symlink(join(root, "node_modules", name), join(project, "node_modules", name));
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
}

async function unpack(tarball: Buffer, folder: string): Promise<void> {
  const reader = extract();
  reader.end(gunzipSync(tarball));
  for await (const entry of reader) {
    const path = join(folder, entry.header.name.replace(/^package\//, ""));
    await mkdir(dirname(path), { recursive: true });
    const chunks: Buffer[] = [];
    for await (const chunk of entry) chunks.push(chunk as Buffer);
    await writeFile(path, Buffer.concat(chunks));
  }
  if (!reader.destroyed) await once(reader, "close");
}
