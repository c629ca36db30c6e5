// Fails when the protobuf sources are badly formed or break what clients were promised. Where the wire facts that the contract was written
// from lie beside the repository, holds the contract against those too.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buf, genFolder } from "./generate.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const wireContract = fileURLToPath(new URL("../../shared/checks/wire-contract.mjs", import.meta.url));
/** The parts of the wire facts that the contract covers. */
const covered = ["v2", "v1-advisory", "v1-auth", "v1-common", "v1-oidc", "v1-ping", "v1-vulnerabilities"];

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
if (existsSync(wireContract)) {
  check("wire facts", () =>
    execFileSync(process.execPath, [wireContract, join(genFolder, "descriptors.binpb"), ...covered], { cwd: root, stdio: "inherit" }),
  );
} else {
  console.log("wire facts: skipped, they are not beside this repository");
}
process.exitCode = failed ? 1 : 0;
