// Fails when packages/api/gen is not what the protobuf sources generate.
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate, genFolder } from "./generate.js";

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();
}

const temporary = mkdtempSync(join(tmpdir(), "holt-generated-"));
try {
  const fresh = join(temporary, "gen");
  generate(fresh);
  const wanted = new Set(filesBelow(fresh));
  const present = new Set(filesBelow(genFolder));
  const differences = [
    ...[...wanted].filter((path) => !present.has(path)).map((path) => `missing:   ${path}`),
    ...[...present].filter((path) => !wanted.has(path)).map((path) => `left over: ${path}`),
    ...[...wanted]
      .filter((path) => present.has(path) && !readFileSync(join(fresh, path)).equals(readFileSync(join(genFolder, path))))
      .map((path) => `differs:   ${path}`),
  ];
  if (differences.length > 0) {
    console.error(`packages/api/gen is not what the sources in packages/api generate:\n  ${differences.join("\n  ")}`);
    console.error("Run `npm run generate` and commit the result.");
    process.exitCode = 1;
  }
} finally {
  rmSync(temporary, { recursive: true });
}
