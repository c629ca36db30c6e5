/** Completion, by the protocol of the scripts and in the shells that are installed. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { within } from "../../server/test/harness/wait.ts";
import { type CommandLineWorld, PROGRAM, startCommandLineWorld } from "./harness.ts";

const run = promisify(execFile);
const isInstalled = (shell: string) => spawnSync(shell, ["--version"]).status === 0;

describe("completion", () => {
  const world = {} as CommandLineWorld;
  let bin: string;
  before(async () => {
    Object.assign(world, await startCommandLineWorld());
    bin = join(world.holt.folder, "bin");
    await mkdir(bin);
    await symlink(PROGRAM, join(bin, "holt"));
    await symlink(process.execPath, join(bin, "node"));
    await world.group(world.orgUid, "team a");
  });
  after(() => world[Symbol.asyncDispose]());

  const complete = async (...words: string[]) =>
    (await world.holt.must(["__complete", ...words]))
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => line.split("\t")[0]);

  test("commands, options, values and names of resources are completed", async () => {
    assert.deepEqual(await complete("who"), ["whoami"]);
    assert.deepEqual(await complete("iam", "role"), ["role-bindings", "roles"]);
    assert.deepEqual(await complete("iam", "groups", "list", "--chi"), ["--children-of"]);
    assert.deepEqual(await complete("iam", "groups", "list", "-o", "j"), ["json"]);
    assert.deepEqual(await complete("iam", "pull-tokens", "create", "--rights", "images-"), ["images-pull", "images-push"]);
    assert.deepEqual(await complete("iam", "groups", "get", "t"), ["team a"]);
    assert.deepEqual(await complete("grant", "--context", "test", world.owner.uid, "view"), ["viewer"]);
    assert.deepEqual(await complete("context", "use", "--context", "te"), ["test"]);
  });

  test("the word after a space is begun by a command of its own, for shells that drop empty arguments", async () => {
    assert.equal(await world.holt.must(["__complete-next", "context"]), await world.holt.must(["__complete", "context", ""]));
    assert.match(await world.holt.must(["__complete-next", "iam", "groups", "get"]), /^team a\t/m);
  });

  test("names cost one request for each kind of resource that fits", async () => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(new URL(request.url ?? "", "http://x").pathname);
      response.end(JSON.stringify({ groups: [{ name: "team b" }], repos: [{ name: "team c" }] }));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const env = { HOLT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, HOLT_TOKEN: "t" };
      const names = async (...words: string[]) => await world.holt.must(["__complete", ...words], { env });
      assert.match(await names("iam", "groups", "get", "t"), /^team b\t/);
      assert.deepEqual(paths, ["/iam/v2/groups"]);
      assert.match(await names("images", "ls", "t"), /^team c\t/);
      assert.deepEqual(paths, ["/iam/v2/groups", "/registry/v2/repos"]);
    } finally {
      server.close();
    }
  });

  test("a server that does not answer in time completes nothing, without an error", async () => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const HOLT_COMPLETION_TIMEOUT of ["", "10ms", "soon"]) {
        const env = { HOLT_URL: url, HOLT_TOKEN: "t", HOLT_COMPLETION_TIMEOUT };
        const command = world.holt.start(["__complete", "iam", "groups", "get", ""], { env });
        assert.deepEqual(await within(command.ended, command.stderr), { status: 0, stdout: "", stderr: "" });
      }
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  test("a server that cannot be asked completes nothing, without an error", async () => {
    const { status, stdout, stderr } = await world.holt.run(["__complete", "iam", "groups", "get", ""], {
      env: { HOLT_URL: "http://127.0.0.1:9", HOLT_TOKEN: "t" },
    });
    assert.deepEqual([status, stdout, stderr], [0, "", ""]);
  });

  const shells: Readonly<Record<string, { readonly args: readonly string[]; readonly script: string }>> = {
    bash: {
      args: ["--norc", "-c"],
      script: `eval "$(holt completion bash)"; COMP_WORDS=(holt iam groups get t); COMP_CWORD=4; _holt; printf '%s\\n' "\${COMPREPLY[@]}"`,
    },
    fish: { args: ["--no-config", "-c"], script: "holt completion fish | source; complete -C 'holt iam groups get t'" },
    pwsh: {
      args: ["-NoProfile", "-Command"],
      script:
        "holt completion powershell | Out-String | Invoke-Expression; " +
        "(TabExpansion2 'holt iam groups get t' 21).CompletionMatches.CompletionText",
    },
  };
  for (const [shell, { args, script }] of Object.entries(shells))
    test(`${shell} completes names with spaces`, { skip: isInstalled(shell) ? false : `${shell} is not installed` }, async () => {
      const env = world.holt.environment({ PATH: `${bin}:${process.env.PATH}` });
      const { stdout } = await run(shell, [...args, script], { env, cwd: world.holt.folder });
      assert.match(stdout, /^["']?team\\? a["']?/m);
    });

  test("zsh accepts the script", { skip: isInstalled("zsh") ? false : "zsh is not installed" }, async () => {
    const path = join(world.holt.folder, "completion.zsh");
    await writeFile(path, await world.holt.must(["completion", "zsh"]));
    await run("zsh", ["-n", path]);
  });

  test("zsh completes names with spaces on Tab", { skip: isInstalled("zsh") ? false : "zsh is not installed" }, async () => {
    const path = join(world.holt.folder, "tab.zsh");
    await writeFile(join(world.holt.folder, "holt.zsh"), await world.holt.must(["completion", "zsh"]));
    // A real interactive shell at a pseudo-terminal, to which another zsh types.
    await writeFile(
      path,
      `zmodload zsh/zpty
       zpty shell zsh -f -i
       zpty -w shell "PROMPT=''; autoload -Uz compinit; compinit -u -D; source holt.zsh; print READY-NOW"
       zpty -r -m shell seen '*READY-NOW*READY-NOW*'
       zpty -n -w shell $'holt iam groups get t\t'
       zpty -r -m shell seen '*get team\\\\ a*' && print -r -- COMPLETED
       zpty -d shell`,
    );
    const env = world.holt.environment({ PATH: `${bin}:${process.env.PATH}`, TERM: "dumb" });
    const { stdout } = await run("zsh", ["-f", path], { env, cwd: world.holt.folder, timeout: 100_000 });
    assert.match(stdout, /COMPLETED/);
  });
});
