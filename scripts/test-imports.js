// Resolves imports with fewer questions to the file system. `npm test` loads this into the process of every test file, which
// imports more than a thousand modules: their resolution takes longer than their evaluation otherwise.
import { registerHooks } from "node:module";

const WORKSPACE = /^file:.*\/packages\/[^/]+\//;
const packages = new Map();

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL, conditions } = context;
    if (!parentURL?.startsWith("file:") || !conditions.includes("import")) return nextResolve(specifier, context);
    // The importing module's address has no symbolic link, and a relative import names its file exactly.
    if (specifier.startsWith(".")) return resolved(new URL(specifier, parentURL).href);
    // All modules of a workspace find the same packages.
    const workspace = WORKSPACE.exec(parentURL)?.[0];
    if (workspace === undefined || parentURL.includes("/node_modules/")) return nextResolve(specifier, context);
    const key = `${workspace} ${specifier}`;
    let found = packages.get(key);
    if (found === undefined) {
      found = { ...nextResolve(specifier, context), shortCircuit: true };
      packages.set(key, found);
    }
    return found;
  },
});

/** @param {string} url */
function resolved(url) {
  return { url, format: url.endsWith(".ts") ? "module-typescript" : undefined, shortCircuit: true };
}
