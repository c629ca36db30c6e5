// Builds the package that users install: JavaScript and types, with the contract's generated code inside.
//
//   npm run build -w packages/client [-- FOLDER]     FOLDER is dist by default
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, "../..");
const dist = resolve(process.argv[2] ?? join(folder, "dist"));
// Inside the workspace, so that the compiler finds the packages that the sources import.
const sources = join(folder, `.build-${process.pid}`);

try {
  copySources();
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  compile();
} finally {
  rmSync(sources, { recursive: true, force: true });
}
writeFileSync(join(dist, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
copyFileSync(join(folder, "README.md"), join(dist, "README.md"));
copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"));

/** The workspace @holt/api is not published by itself, so imports of it become relative. */
function copySources() {
  cpSync(join(folder, "src"), join(sources, "client"), { recursive: true });
  cpSync(join(root, "packages/api/index.ts"), join(sources, "api/index.ts"));
  cpSync(join(root, "packages/api/gen"), join(sources, "api/gen"), { recursive: true });
  for (const file of readdirSync(join(sources, "client"), { recursive: true })) {
    if (!file.endsWith(".ts")) continue;
    const path = join(sources, "client", file);
    const contract = posix.relative(posix.dirname(posix.join("client", file)), "api");
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll('"@holt/api/', `"${contract}/`).replaceAll('"@holt/api"', `"${contract}/index.ts"`));
  }
}

function compile() {
  const tsc = join(dirname(createRequire(import.meta.url).resolve("typescript/package.json")), "bin/tsc");
  writeFileSync(
    join(sources, "tsconfig.json"),
    JSON.stringify({
      extends: join(folder, "tsconfig.build.json"),
      compilerOptions: { rootDir: sources, outDir: dist },
      include: ["client/**/*.ts", "api/**/*.ts"],
    }),
  );
  execFileSync(process.execPath, [tsc, "-p", sources], { stdio: "inherit" });
}

function manifest() {
  const {
    private: _private,
    devDependencies: _dev,
    scripts: _scripts,
    ...rest
  } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const { "@holt/api": _contract, ...dependencies } = rest.dependencies;
  const entry = (name) => ({ types: `./client/${name}.d.ts`, default: `./client/${name}.js` });
  const messages = { types: "./api/gen/*.d.ts", default: "./api/gen/*.js" };
  return {
    ...rest,
    dependencies,
    exports: {
      ".": entry("index"),
      "./node": entry("node"),
      "./rest": entry("rest"),
      "./http": entry("http"),
      "./exchange": entry("tokens/exchange"),
      "./ci": entry("tokens/ci"),
      "./signed": entry("tokens/signed"),
      "./aws": entry("tokens/aws"),
      "./messages/*": messages,
    },
    engines: { node: ">=20" },
  };
}
