// Builds the program that operators install: server, command line and console, without node_modules. Needs the built console.
//
//   node scripts/build.js [FOLDER]     FOLDER is dist by default; `npm run build` builds the console before
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { bundle, server } from "./build/bundle.js";
import { root } from "./build/paths.js";
import { writeSboms } from "./build/sboms.js";
import { thirdPartyLicenses } from "./build/third-party-licenses.js";

const dist = resolve(process.argv[2] ?? join(root, "dist"));
const swaggerUi = dirname(createRequire(join(root, "packages/server/package.json")).resolve("swagger-ui-dist/package.json"));

const programs = { holtd: join(server, "main.ts"), holt: join(root, "packages/cli/src/main.ts") };
/** Files of the program besides its code, by their place below dist. */
const files = {
  "share/console": join(root, "packages/console/dist"),
  "share/manual": join(root, "docs"),
  "share/sign-in/passkey.js": join(root, "packages/server/src/sign-in/http/passkey.js"),
  "share/swagger-ui/swagger-ui-bundle.js": join(swaggerUi, "swagger-ui-bundle.js"),
  "share/swagger-ui/swagger-ui.css": join(swaggerUi, "swagger-ui.css"),
  "share/swagger-ui/favicon-32x32.png": join(swaggerUi, "favicon-32x32.png"),
  gen: join(root, "packages/cli/gen"),
  LICENSE: join(root, "LICENSE"),
  "CHANGELOG.md": join(root, "CHANGELOG.md"),
};

if (!existsSync(join(root, "packages/console/dist/index.html"))) {
  console.error("The console is not built. Run `npm run build`, which builds it first.");
  process.exit(1);
}
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await bundle(join(dist, "lib"), programs, { isBuilt: true, outdir: join(root, "dist/lib") });
for (const [name, source] of Object.entries(files)) {
  mkdirSync(dirname(join(dist, name)), { recursive: true });
  cpSync(source, join(dist, name), { recursive: true });
}
mkdirSync(join(dist, "bin"));
for (const name of ["holtd", "holt", "docker-credential-holt"]) {
  copyFileSync(join(root, `scripts/build/bin/${name}.js`), join(dist, "bin", name));
  chmodSync(join(dist, "bin", name), 0o755);
}
// Makes Node take the files for ES modules.
writeFileSync(join(dist, "package.json"), '{ "type": "module", "private": true }\n');
writeFileSync(join(dist, "THIRD-PARTY-LICENSES.txt"), thirdPartyLicenses());
writeSboms(dist);
