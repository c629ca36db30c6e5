/**
 * Runs the robustness tests again and again with new seeds, and prints a table of figures:
 * `npm run torture -- --minutes 60`. A seed that fails is printed, and TEST_SEED repeats it. TEST_ROUNDS makes the tests of
 * a fleet of servers longer than in CI.
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";

const FOLDER = "packages/server/test/robustness";
const FILE_TIMEOUT_MS = 20 * 60_000;

const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" }, only: { type: "string", default: "" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error("--minutes must be a positive number");

const files = readdirSync(FOLDER).filter((name) => name.endsWith(".test.ts") && name.includes(values.only));
if (files.length === 0) throw new Error(`no test in ${FOLDER} has "${values.only}" in its name`);
const figures = new Map(files.map((file) => [file, { runs: 0, passed: 0, failed: 0, writes: 0, failedSeeds: [] }]));

const end = Date.now() + minutes * 60_000;
for (let i = 0; i === 0 || Date.now() < end; i++) {
  const file = files[i % files.length];
  const seed = 1 + Math.floor(Math.random() * 1_000_000_000);
  const output = await run(join(FOLDER, file), seed);
  const figure = figures.get(file);
  figure.runs++;
  figure.passed += countOf(output, "pass");
  figure.failed += countOf(output, "fail") + countOf(output, "cancelled");
  figure.writes += [...output.matchAll(/(\d+) acknowledged writes/g)].reduce((sum, [, count]) => sum + Number(count), 0);
  if (countOf(output, "fail") + countOf(output, "cancelled") > 0) {
    figure.failedSeeds.push(seed);
    console.log(`\n${file} failed with TEST_SEED=${seed}:\n${output.slice(Math.max(output.indexOf("failing tests:"), 0))}`);
  }
}

console.table(
  Object.fromEntries(
    [...figures].map(([file, { runs, passed, failed, writes, failedSeeds }]) => [
      basename(file, ".test.ts"),
      { runs, "tests passed": passed, "tests failed": failed, "acknowledged writes": writes, "failed seeds": failedSeeds.join(" ") },
    ]),
  ),
);
process.exitCode = [...figures.values()].some(({ failed }) => failed > 0) ? 1 : 0;

/** Resolves with the output of the test file. */
function run(path, seed) {
  return new Promise((resolve) => {
    const args = ["--test", "--test-reporter=spec", `--test-timeout=${FILE_TIMEOUT_MS}`, path];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, TEST_SEED: String(seed), TEST_ROUNDS: "4" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.once("close", () => resolve(output));
  });
}

/** A figure of the summary, such as `ℹ pass 7`. */
function countOf(output, name) {
  return Number(new RegExp(`^ℹ ${name} (\\d+)$`, "m").exec(output)?.[1] ?? 0);
}
