// Runs everything that CI runs, cheapest first, and ends with the tests. Stops at the first failure with its exit status.
import { spawnSync } from "node:child_process";

const checks = [
  ["format and lint", "biome", ["ci", "--error-on-warnings", "."]],
  ["types", "tsc", ["-p", "tsconfig.json"]],
  ["types of the console", "tsc", ["-p", "packages/console/tsconfig.json"]],
  ["import direction", "node", ["scripts/check-architecture.js"]],
  ["time in tests", "node", ["scripts/check-tests.js"]],
  ["generated documentation", "node", ["scripts/generate-docs.js", "--check"]],
  ["generated commands", "node", ["scripts/generate-cli.js", "--check"]],
  ["generated code", "node", ["scripts/check-generated.js"]],
  ["contract", "node", ["scripts/check-contract.js"]],
  ["tests", "npm", ["test", "--silent"]],
];

for (const [name, command, args] of checks) {
  console.log(`\n== ${name}: ${command} ${args.join(" ")}`);
  // npm puts node_modules/.bin on the path of its scripts.
  const { status, error } = spawnSync(command, args, { stdio: "inherit", shell: process.platform === "win32" });
  if (error !== undefined) console.error(error.message);
  if (status !== 0) process.exit(status ?? 1);
}
