// The main script of the single executable. Loads the chunks of the build from the executable, in the main thread and in
// other threads, and runs holtd, or holt if the executable is called by that name.
const { basename } = require("node:path");
const sea = require("node:sea");

/** An address that no file has; chunks import each other relative to it. */
const BASE = "file:///.holt-executable/";

/** Also runs in threads, as text: it must use nothing of this file. */
function loadFromExecutable(base) {
  const { registerHooks } = require("node:module");
  const { getAsset } = require("node:sea");
  registerHooks({
    resolve(specifier, context, next) {
      const isRelative = specifier.startsWith("./") && context.parentURL?.startsWith(base);
      const url = isRelative ? new URL(specifier, context.parentURL).href : specifier;
      return url.startsWith(base) ? { url, format: "module", shortCircuit: true } : next(specifier, context);
    },
    load(url, context, next) {
      if (!url.startsWith(base)) return next(url, context);
      return { format: "module", source: getAsset(url.slice(base.length), "utf8"), shortCircuit: true };
    },
  });
}

// The server and the command line read their files by this.
globalThis.holtExecutable = {
  fileNames: sea.getAssetKeys(),
  read: (name) => sea.getRawAsset(name),
  threadCode: (module) => `(${loadFromExecutable})(${JSON.stringify(BASE)}); import(${JSON.stringify(module)});`,
};

const name = basename(process.argv0);
if (name === "docker-credential-holt") process.argv.splice(2, 0, "credential-helper");
// Half of the threads look names up, one each for as long as a name server takes.
process.env.UV_THREADPOOL_SIZE ??= "16";
loadFromExecutable(BASE);
import(`${BASE}lib/${["holt", "docker-credential-holt"].includes(name) ? "holt" : "holtd"}.js`);
