import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { temporaryFolder } from "../holtd.ts";
import { isInstalled, readShellBlocks, scriptOf } from "./shell-blocks.ts";

const FENCE = "```";
const block = (text: string, words = "") => `# Page\n\n${FENCE}sh${words}\n${text}\n${FENCE}\n`;
const nothing = { placeholders: {}, replacements: {} };

async function run(page: string): Promise<{ readonly status: number | null; readonly stderr: string }> {
  await using folder = await temporaryFolder();
  const script = scriptOf(readShellBlocks(page), nothing);
  return spawnSync("bash", ["-c", script], {
    encoding: "utf8",
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? "", HOME: folder.path },
  });
}

describe("shell blocks of a document", { skip: isInstalled("bash") ? false : "bash is needed" }, () => {
  it("shell blocks of a document are read with their line and treatment", () => {
    const [plain] = readShellBlocks(block("true"));
    assert.deepEqual(plain, { line: 3, text: "true", isSkipped: false, needs: [] });
    const [treated] = readShellBlocks(block("true", " skip needs=a,b"));
    assert.deepEqual(treated, { line: 3, text: "true", isSkipped: true, needs: ["a", "b"] });
    assert.deepEqual(readShellBlocks(`${FENCE}json\n{}\n${FENCE}\n`), []);
    assert.throws(() => readShellBlocks(block("true", " neds=a")), /unknown word neds=a/);
  });

  for (const [what, text, message] of [
    ["a failing command", "false", ""],
    ["a failing part of a pipeline", "false | cat", ""],
    ["an undefined variable", 'echo "$GROUP_ID"', /GROUP_ID: unbound variable/],
    ["a variable that is assigned nothing", "export NAME=$(printf '')", /NAME is empty/],
    ["a variable that is assigned null", "NAME=$(echo null)", /NAME is empty/],
    ["a refusal that does not happen", "true   # refused", /0 requests were refused, not 1/],
  ] as const) {
    it(`${what} in a shell block of a document is an error`, async () => {
      const { status, stderr } = await run(block(text));
      assert.notEqual(status, 0);
      assert.match(stderr, message === "" ? /line 3/ : message);
    });
  }

  it("an unknown placeholder in a shell block of a document is an error", () => {
    assert.throws(() => scriptOf(readShellBlocks(block("echo YOUR_NAME")), nothing), /placeholder YOUR_NAME is unknown/);
  });

  it("a working shell block of a document succeeds", async () => {
    assert.deepEqual((await run(block('NAME=$(echo x)\nOTHER=1 env | grep -q "^OTHER=1"\nCURSOR=\necho "$NAME$CURSOR"'))).status, 0);
  });
});
