// Bundles the server and the command line into chunks in one folder, so that a command loads only what it needs.
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { build } from "esbuild";
import { root } from "./paths.js";

export const server = join(root, "packages/server/src");
/** Modules that threads load by their URLs. */
const MODULE_URL = /new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g;

/**
 * @param folder of the chunks
 * @param programs name → main module
 * @param isBuilt whether the program runs without the checkout, with its other files in `share` beside the folder
 * @param outdir the names of chunks depend on the folder that they are made for, so a reproducible build needs the same one
 * @returns the files that were bundled, by their paths from the root
 */
export async function bundle(folder, programs, { isBuilt, outdir = folder }) {
  const { outputFiles, metafile } = await build({
    entryPoints: { ...programs, ...threadModules() },
    absWorkingDir: root,
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node24",
    chunkNames: "chunk-[hash]",
    // Names stay: they are what a stack trace shows.
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
    define: {
      ...(isBuilt ? { HOLT_IS_BUILT: "true" } : {}),
      __dirname: "import.meta.dirname",
      __filename: "import.meta.filename",
    },
    // pg loads the first one only where somebody asks for it. Without the keyring, the command line keeps credentials in a file.
    external: ["pg-native", "@napi-rs/keyring"],
    // Packages in CommonJS call require.
    banner: {
      js: 'import { createRequire as createRequireOfHolt } from "node:module"; const require = createRequireOfHolt(import.meta.url);',
    },
    plugins: [places(outdir, isBuilt), requiredHttp],
    metafile: true,
    write: false,
  });
  mkdirSync(folder, { recursive: true });
  for (const { path, contents, text } of outputFiles)
    writeFileSync(join(folder, basename(path)), path.endsWith(".map") ? withPlacedSources(text, outdir) : contents);
  return Object.keys(metafile.inputs);
}

/** Entry name → file. */
function threadModules() {
  const modules = {};
  for (const name of globSync("**/*.ts", { cwd: server }).sort()) {
    if (name.endsWith(".test.ts")) continue;
    const path = join(server, name);
    for (const [, module] of readFileSync(path, "utf8").matchAll(MODULE_URL)) {
      const target = join(dirname(path), module);
      modules[entryName(target)] = target;
    }
  }
  return modules;
}

function entryName(path) {
  return `thread-${relative(server, path).replace(/\.ts$/, "").replaceAll(/[/\\]/g, "-")}`;
}

/**
 * All chunks are in one folder, so the address of a thread's module is the same from each of them. In a checkout, a module
 * finds its other files where its source is.
 */
function places(outdir, isBuilt) {
  return {
    name: "places of threads' modules and of other files",
    setup({ onLoad }) {
      onLoad({ filter: /packages[/\\]server[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, "utf8");
        const contents = text.replaceAll(
          MODULE_URL,
          (_, module) => `new URL("./${entryName(join(dirname(path), module))}.js", import.meta.url)`,
        );
        if (isBuilt) return { loader: "ts", contents };
        const source = relative(outdir, dirname(path)).replaceAll("\\", "/");
        return { loader: "ts", contents: contents.replaceAll("import.meta.dirname", `(import.meta.dirname + "/${source}")`) };
      });
    },
  };
}

/** Imports of node:http load the module of this folder, which says why. */
const requiredHttp = {
  name: "node:http by require",
  setup({ onResolve }) {
    const path = join(import.meta.dirname, "http.cjs");
    onResolve({ filter: /^(node:)?http$/ }, ({ kind }) => (kind === "import-statement" ? { path } : undefined));
  },
};

/** Names sources by their place in the repository. */
function withPlacedSources(text, outdir) {
  const map = JSON.parse(text);
  const sources = map.sources.map((source) => relative(root, join(outdir, source)).replaceAll("\\", "/"));
  return JSON.stringify({ ...map, sources });
}
