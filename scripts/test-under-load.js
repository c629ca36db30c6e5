// Runs the tests, or the files that are given, on a slow machine: one processor core, shared with a busy neighbour.
// Options of `node --test` may come before the files. Not part of CI, because a run takes several times as long.
//   node scripts/test-under-load.js [--neighbours=N] [OPTION...] [FILE...]
import { spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const given = process.argv.slice(2);
const neighbours = Number(given.find((text) => text.startsWith("--neighbours="))?.slice("--neighbours=".length) ?? 1);
const args = given.filter((text) => !text.startsWith("--neighbours="));

/** The command of `npm test`, without its pattern of files. */
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [, ...options] = scripts.test.split(" ").slice(0, -1);
const hasFiles = args.some((text) => !text.startsWith("-"));
const command = ["npx", "node", ...options, ...args, ...(hasFiles ? [] : ["packages/**/*.test.ts"])];

const oneCore = spawnSync("taskset", ["-c", "0", "true"]).status === 0 ? ["taskset", "-c", "0"] : [];
if (oneCore.length === 0) console.error("There is no taskset on this system: the tests use all cores.");

const busy = Array.from({ length: neighbours }, () => start([process.execPath, "-e", "for (;;) ;"], "ignore"));
const tests = start(command, "inherit");
const stop = () => {
  for (const neighbour of busy) neighbour.kill("SIGKILL");
};
process
  .on("exit", stop)
  .on("SIGINT", () => process.exit(130))
  .on("SIGTERM", () => process.exit(143));
tests.on("close", (code) => process.exit(code ?? 1));

/** @param {string[]} words @param {"ignore" | "inherit"} stdio */
function start(words, stdio) {
  const [program, ...rest] = [...oneCore, ...words];
  return spawn(program, rest, { cwd: root, stdio });
}
