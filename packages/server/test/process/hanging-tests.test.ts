/** Tests that `npm test`, with the options of its script in package.json, ends a test that hangs and names it. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

const root = new URL("../../../../", import.meta.url).pathname;
const hangs = {
  "a test that waits for ever": {
    source: 'test("waits for ever", () => new Promise(() => setInterval(() => {}, 1000)));',
    expected: /waits for ever.*'test timed out after 5000ms'/s,
  },
  "a test that blocks its event loop": {
    source: 'test("spins", () => { for (;;); });',
    expected: /HANGS: .*: the event loop is blocked for \d+ s after the test "spins" began/,
  },
  "a file that leaves a server open after its last test": {
    source: 'import { createServer } from "node:net"; test("listens", () => void createServer().listen(0));',
    expected: /HANGS: .* after the end of the test "listens"\. Still open: .*TCPServerWrap/,
  },
} as const;

describe("a test that hangs", { concurrency: true }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "holt-hanging-"));
  });
  after(() => rm(folder, { recursive: true }));

  for (const [title, { source, expected }] of Object.entries(hangs)) {
    test(`${title} is ended and named, and the run fails`, async () => {
      const file = join(folder, `${title.replaceAll(" ", "-")}.test.mjs`);
      await writeFile(file, `import { test } from "node:test"; ${source}`);
      const { status, output } = await runTests(file);
      assert.equal(status, 1, output);
      assert.match(output, expected);
    });
  }
});

/** Runs the file like `npm test`, but with five seconds per test, in which a test file starts also on a slow machine. */
async function runTests(file: string): Promise<{ status: number; output: string }> {
  const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { scripts: { test: string } };
  const [program = "", ...options] = scripts.test.split(" ").slice(0, -1);
  assert.equal(program, "node");
  const args = options.map((option) => option.replace(/^(--test-timeout)=300000$/, "$1=5000"));
  assert.ok(args.includes("--test-timeout=5000"));
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [...args, file], { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ status: Number(error?.code ?? 0), output: stdout + stderr });
    });
  });
}
