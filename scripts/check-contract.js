// Fails when the protobuf sources are badly formed, break what clients were promised, or contradict the wire facts in
// packages/api/wire-facts.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buf } from "./generate.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const wireFacts = join(root, "scripts", "check-wire-facts.js");

let failed = false;
function check(what, run) {
  try {
    run();
  } catch {
    console.error(`${what}: failed`);
    failed = true;
  }
}

check("format (buf format -w proto in packages/api fixes it)", () => buf("format", "--diff", "--exit-code", "proto"));
check("lint", () => buf("lint"));
check("compatibility with packages/api/baseline.binpb", () => buf("breaking", "proto", "--against", "baseline.binpb", "--exclude-imports"));
check("wire facts", () => execFileSync(nodeForTypeScript(), [wireFacts], { stdio: "inherit" }));
process.exitCode = failed ? 1 : 0;

/** This Node, or the one of the development dependencies where this one does not run TypeScript. */
function nodeForTypeScript() {
  return process.features.typescript
    ? process.execPath
    : join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
}
