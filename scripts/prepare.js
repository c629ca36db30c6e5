// Builds the web console after `npm ci`, so that `npm start` serves it. Needs no network.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const build = join(root, "packages/console/build.js");
if (hasVite()) {
  const { status } = spawnSync(process.execPath, [build], { stdio: "inherit" });
  process.exitCode = status ?? 1;
} else {
  console.log("The web console is not built, because the development dependencies are not installed.");
}

function hasVite() {
  try {
    createRequire(build).resolve("vite");
    return true;
  } catch {
    return false;
  }
}
