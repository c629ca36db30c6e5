/** Output for people, in a real terminal, and output for programs. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { type CommandLineWorld, PROGRAM, startCommandLineWorld } from "./harness.ts";

const run = promisify(execFile);
/** The script of util-linux gives a command a terminal. */
const hasTerminal = /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "");

describe("output", () => {
  const world = {} as CommandLineWorld;
  before(async () => {
    Object.assign(world, await startCommandLineWorld());
    await world.holt.must(["iam", "groups", "create", "--parent", "my-org", "--name", "folder", "--description", 'says "a, b"']);
  });
  after(() => world[Symbol.asyncDispose]());

  const list = ["iam", "groups", "list", "--children-of", "my-org"];

  test("formats for programs are stable and have no colour", async () => {
    const { holt } = world;
    const [json, yaml] = [await holt.must([...list, "-o", "json"]), await holt.must([...list, "-o", "yaml"])];
    assert.deepEqual(parse(yaml), JSON.parse(json));
    const csv = await holt.must([...list, "-o", "csv"]);
    assert.match(csv, /^name,uid,description,verified,create_time,update_time,kind,status\r\nfolder,[0-9a-f/]+,"says ""a, b""",false,/);
    assert.match(await holt.must([...list, "-o", "tree"]), /^folder [0-9a-f/]+\n$/);
    assert.equal(JSON.parse(json)[0].uid, (await holt.must([...list, "-o", "name"])).trim());
  });

  test("a table that is not on a terminal is not cut", async () => {
    const shown = await world.holt.must(list);
    assert.match(shown, /^NAME +UID +DESCRIPTION/);
    assert.ok(shown.includes('says "a, b"'));
    assert.ok(!shown.includes("\u001b"));
  });

  test("a reader that ends early is not a failure", async () => {
    const command = `"${process.execPath}" "${PROGRAM}" iam roles list --all -o json | head -c 10; echo "\${PIPESTATUS[0]}"`;
    const { stdout, stderr } = await run("bash", ["-c", command], { env: world.holt.environment() });
    assert.match(stdout, /0\n$/);
    assert.equal(stderr, "");
  });

  describe("on a terminal", { skip: hasTerminal ? false : "the program script is not installed" }, () => {
    /** @returns what a terminal of 60 columns shows */
    async function inTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}, answer = ""): Promise<string> {
      const command = `stty cols 60; '${process.execPath}' '${PROGRAM}' ${args.map((arg) => `'${arg}'`).join(" ")}`;
      const child = run("script", ["-qec", command, "/dev/null"], {
        env: world.holt.environment({ TERM: "xterm", SHELL: "/bin/sh", ...env }),
      });
      child.child.stdin?.end(answer);
      return (await child.catch((error: { stdout: string }) => error)).stdout;
    }

    test("a table fits the width and has a coloured head, but no colour with NO_COLOR", async () => {
      const coloured = await inTerminal(list);
      assert.ok(coloured.includes("\u001b[1mNAME"), coloured);
      const plain = await inTerminal(list, { NO_COLOR: "1" });
      assert.ok(!plain.includes("\u001b["), plain);
      for (const line of plain.split(/\r?\n/)) assert.ok(line.length <= 60, line);
    });

    test("a destructive command asks, and changes nothing without a yes", async () => {
      const shown = await inTerminal(["iam", "groups", "delete", "folder"], { NO_COLOR: "1" }, "n\n");
      assert.match(shown, /holt iam groups delete folder: continue\? \[y\/N\]/);
      assert.match(shown, /nothing was changed/);
      assert.match(await world.holt.must(list), /folder/);
    });
  });
});
