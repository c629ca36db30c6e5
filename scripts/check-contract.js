// Fails when the protobuf sources are badly formed, break what clients were promised, or contradict the wire facts in
// packages/api/wire-facts.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buf } from "./generate.js";

const wireFacts = join(fileURLToPath(new URL(".", import.meta.url)), "check-wire-facts.js");

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
check("wire facts", () => execFileSync(process.execPath, [wireFacts], { stdio: "inherit" }));
process.exitCode = failed ? 1 : 0;
