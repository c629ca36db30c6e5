// Refuses tests that judge by elapsed time or wait for a fixed time: on a slow machine they fail without a fault.
import { readdirSync, readFileSync } from "node:fs";

const FOLDER = "packages";
const IS_TEST = /(?:\.test\.ts|\/test\/.*\.ts)$/;

/** Each rule sees one line. */
const rules = [
  {
    isBroken: (line) => /\bperformance\.now\(|\bhrtime\b/.test(line),
    advice: "measure CPU time (test/harness/cpu-cost.ts), count, or inject a clock",
  },
  {
    // A date that is some time away is not a measurement.
    isBroken: (line) =>
      /Date\.now\(\)\s*[-<>]|(?:[\w)]\s*-|[<>]=?)\s*Date\.now\(\)/.test(line.replaceAll(/new Date\(Date\.now\(\)[^()]*\)/g, "")),
    advice: "measure CPU time (test/harness/cpu-cost.ts), count, or inject a clock",
  },
  {
    isBroken: (line) => /setTimeout as \w+.*timers\/promises|scheduler\.wait\(|new Promise\b.*=>\s*(?:void )?setTimeout\(/.test(line),
    advice: "wait for a condition with test/harness/wait.ts",
  },
  {
    isBroken: (line) => /AbortSignal\.timeout\(\d{1,2}_?000\)|\b(?:until|within)\(.*, \d{1,2}_?000\)/.test(line),
    advice: "be as patient as PATIENCE_MS of test/harness/wait.ts: a slow machine needs it",
  },
];

/** Files that break a rule for a reason, and how many of their lines do. */
const exceptions = {
  "packages/server/test/harness/wait.ts": { lines: 6, reason: "implements the waiting for conditions" },
  "packages/server/test/robustness/delivery-chaos.test.ts": { lines: 3, reason: "prints how long the run took, and asserts nothing on it" },
  "packages/server/test/registry/collection-stress.test.ts": {
    lines: 2,
    reason: "accepts a refusal only of pushes that took longer than the grace period",
  },
  "packages/server/test/robustness/silent-database.test.ts": { lines: 1, reason: "the documented limit of a statement is 30 s" },
  "packages/server/src/jobs/worker.test.ts": { lines: 1, reason: "the run of a job that lasts until its signal ends it" },
};

const samples = {
  refused: [
    "assert.ok(performance.now() - begun < 500);",
    "const [seconds] = process.hrtime(begin);",
    "for (const end = Date.now() + 5000; !isDone(); ) assert.ok(Date.now() < end);",
    "assert.ok(Date.now() - begun < 3000);",
    'import { setTimeout as sleep } from "node:timers/promises";',
    "await new Promise((resolve) => setTimeout(resolve, 300));",
    "await new Promise<void>((done) => void setTimeout(done, 5));",
    "await until(() => isDone(), 10_000);",
    "await once(socket, 'data', { signal: AbortSignal.timeout(5_000) });",
  ],
  accepted: [
    "const claims = { exp: -Date.now() };",
    "const longAgo = new Date(Date.now() - 3_600_000);",
    "const { user } = process.threadCpuUsage();",
    "await until(() => steps === 3);",
    "setTimeout(() => response.end(), 30).unref();",
  ],
};

const isRefused = (line) => rules.some(({ isBroken }) => isBroken(line));
const misjudged = [...samples.refused.filter((line) => !isRefused(line)), ...samples.accepted.filter(isRefused)];
for (const line of misjudged) console.error(`scripts/check-tests.js misjudges its sample: ${line}`);

const problems = misjudged.length > 0 ? misjudged : testFiles().flatMap(problemsOf);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log("The tests judge by no elapsed time and wait for conditions.");

function testFiles() {
  return readdirSync(FOLDER, { recursive: true })
    .map((path) => `${FOLDER}/${path.replaceAll("\\", "/")}`)
    .filter((path) => IS_TEST.test(path) && !path.includes("node_modules"))
    .sort();
}

/** @param {string} file */
function problemsOf(file) {
  const found = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line, index) =>
      rules.filter(({ isBroken }) => isBroken(line)).map(({ advice }) => `${file}:${index + 1}: ${line.trim()}\n  ${advice}`),
    );
  const expected = exceptions[file]?.lines ?? 0;
  if (found.length === expected) return [];
  return found.length > expected ? found : [`${file}: scripts/check-tests.js allows ${expected} lines, and ${found.length} are left`];
}
