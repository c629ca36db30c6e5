// Generates packages/api/gen from the protobuf sources: TypeScript, and a descriptor set with all imports. Works offline.
import { execFileSync } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

export const apiFolder = join(root, "packages", "api");
export const genFolder = join(apiFolder, "gen");

/** Runs buf in the contract's folder. Throws when it fails; buf has said why by then. */
export function buf(...args) {
  const bin = join(root, "node_modules", ".bin");
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  execFileSync(process.execPath, [join(root, "node_modules", "@bufbuild", "buf", "bin", "buf"), ...args], {
    cwd: apiFolder,
    env,
    stdio: "inherit",
  });
}

/** Writes all generated files into a folder. What was in it before goes. */
export function generate(folder) {
  // The template's output folder is gen, below what --output names.
  buf("generate", "--output", join(folder, ".."));
  buf("build", "--as-file-descriptor-set", "--exclude-source-info", "--output", join(folder, "descriptors.binpb"));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) generate(genFolder);
