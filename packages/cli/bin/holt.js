#!/usr/bin/env node
// Starts holt. Plain JavaScript, so that a Node that cannot run TypeScript can look for one that can.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import module from "node:module";
import { fileURLToPath } from "node:url";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const built = here("../lib/main.js");
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (existsSync(built)) {
  module.enableCompileCache?.();
  await import("../lib/main.js");
} else if (major > 24 || (major === 24 && minor >= 2)) {
  // Beside the dependencies: in the system's folder for temporary files, another user could leave code.
  module.enableCompileCache(here("../../../node_modules/.cache/holt"));
  await import("../src/main.ts");
} else runWithNodeOfCheckout();

/** `npm ci` installs a Node that runs TypeScript; `npx` finds it by itself. */
function runWithNodeOfCheckout() {
  const node = here("../../../node_modules/node/bin/node");
  if (!existsSync(node)) {
    console.error(
      `holt: this is Node ${process.versions.node}, which does not run TypeScript\nRun \`npm ci\` in the checkout, or install the built package.`,
    );
    process.exit(1);
  }
  const { status, signal } = spawnSync(node, [here("holt.js"), ...process.argv.slice(2)], { stdio: "inherit" });
  if (signal !== null) process.kill(process.pid, signal);
  process.exitCode = status ?? 1;
}
