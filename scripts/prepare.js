// Builds the web console after `npm ci`, so that `npm start` serves it, and bundles the server, which then starts faster and takes
// less memory. Needs no network.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const build = join(root, "packages/console/build.js");
if (hasVite()) {
  for (const script of [build, join(root, "scripts/build/bundle-checkout.js")]) {
    const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
    process.exitCode ||= status ?? 1;
  }
} else {
  console.log("The web console is not built and the server not bundled, because the development dependencies are not installed.");
}

function hasVite() {
  try {
    createRequire(build).resolve("vite");
    return true;
  } catch {
    return false;
  }
}
