// Builds the package that users install: JavaScript for Node 20, in chunks, so that a command loads only what it needs.
//
//   npm run build -w packages/cli [-- FOLDER]     FOLDER is dist by default
import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = dirname(fileURLToPath(import.meta.url));
const dist = resolve(process.argv[2] ?? join(folder, "dist"));
const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
/** Kept out of the chunks: they read WebAssembly or native code from files of their own, and few commands need them. */
const external = ["jq-wasm", "@napi-rs/keyring"];

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: [join(folder, "src/main.ts")],
  outdir: join(dist, "lib"),
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  external,
  legalComments: "none",
  // Packages in CommonJS call require.
  banner: {
    js: 'import { createRequire as createRequireOfHolt } from "node:module"; const require = createRequireOfHolt(import.meta.url);',
  },
});
cpSync(join(folder, "bin"), join(dist, "bin"), { recursive: true });
for (const path of Object.values(manifest.bin)) chmodSync(join(dist, path), 0o755);
cpSync(join(folder, "gen"), join(dist, "gen"), { recursive: true });
copyFileSync(join(folder, "README.md"), join(dist, "README.md"));
copyFileSync(join(folder, "../../LICENSE"), join(dist, "LICENSE"));
writeFileSync(join(dist, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);

function publishedManifest() {
  const { private: _private, devDependencies: _dev, scripts: _scripts, dependencies, ...rest } = manifest;
  const kept = Object.fromEntries(Object.entries(dependencies).filter(([name]) => external.includes(name)));
  return { ...rest, dependencies: kept, engines: { node: ">=20" } };
}
