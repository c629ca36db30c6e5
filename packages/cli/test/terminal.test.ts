/** Output for people, in a real terminal, and output for programs. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { parse } from "yaml";
import { type CommandLineWorld, PROGRAM, startCommandLineWorld } from "./harness.ts";
import { runInTerminal, withoutTerminal } from "./terminal.ts";

const run = promisify(execFile);

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

  test("output that cannot be written is a failure with a reason", { skip: !existsSync("/dev/full") }, async () => {
    const command = `"${process.execPath}" "${PROGRAM}" iam roles list -o json > /dev/full; echo "$?"`;
    const { stdout, stderr } = await run("bash", ["-c", command], { env: world.holt.environment() });
    assert.equal(stdout, "1\n");
    assert.match(stderr, /^holt: cannot write the output: ENOSPC/m);
  });

  describe("on a terminal", { skip: withoutTerminal }, () => {
    const inTerminal = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      (await runInTerminal(world.holt, args, { env })).shown;

    test("a table fits the width and has a coloured head, but no colour with NO_COLOR", async () => {
      const coloured = await inTerminal(list);
      assert.ok(coloured.includes("\u001b[1mNAME"), coloured);
      const plain = await inTerminal(list, { NO_COLOR: "1" });
      assert.ok(!plain.includes("\u001b["), plain);
      for (const line of plain.split(/\r?\n/)) assert.ok(line.length <= 60, line);
    });

    test("a wide table has all columns, whatever the width of the terminal", async () => {
      const lines = (await inTerminal([...list, "-o", "wide"], { NO_COLOR: "1" })).split(/\r?\n/);
      assert.match(lines[0] ?? "", /^NAME +UID +DESCRIPTION .*CREATE TIME.*UPDATE TIME/);
      assert.ok((lines[0] ?? "").length > 60);
    });

    test("a destructive command asks, and changes nothing without a yes", async () => {
      const answers = [[/continue\? \[y\/N\] /, "n\r"]] as const;
      const { shown, status } = await runInTerminal(world.holt, ["iam", "groups", "delete", "folder"], {
        env: { NO_COLOR: "1" },
        answers,
      });
      assert.equal(status, 1);
      assert.match(shown, /holt iam groups delete folder: continue\? \[y\/N\]/);
      assert.match(shown, /nothing was changed/);
      assert.match(await world.holt.must(list), /folder/);
    });

    test("a yes deletes what a command asks about", async () => {
      await world.group(world.orgUid, "to delete");
      const answers = [[/continue\? \[y\/N\] /, "y\r"]] as const;
      const { status, shown } = await runInTerminal(world.holt, ["iam", "groups", "delete", "to delete"], { answers });
      assert.equal(status, 0, shown);
      assert.doesNotMatch(await world.holt.must(list), /to delete/);
    });

    test("Ctrl-C at a question ends the command and changes nothing", async () => {
      const answers = [[/continue\? \[y\/N\] /, "\u0003"]] as const;
      const { status, shown } = await runInTerminal(world.holt, ["iam", "groups", "delete", "folder"], { answers });
      assert.equal(status, 130, shown);
      assert.match(await world.holt.must(list), /folder/);
    });
  });
});
