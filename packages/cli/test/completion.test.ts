/** Completion, by the protocol of the scripts and in the shells that are installed. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
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
