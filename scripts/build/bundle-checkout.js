// Bundles the server of a checkout into packages/server/dist, which packages/server/bin/holtd.js runs until a source changes.
// `npm ci` runs it. After an edit it is needed to measure what users get.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeBundleState } from "../../packages/server/bin/bundle-state.js";
import { bundle, server } from "./bundle.js";
import { root } from "./paths.js";

const folder = join(root, "packages/server/dist");
/** npm writes it with each change of the dependencies. */
const DEPENDENCIES = "node_modules/.package-lock.json";

const begun = Date.now();
rmSync(folder, { recursive: true, force: true });
const inputs = await bundle(folder, { holtd: join(server, "main.ts") }, { isBuilt: false });
const isKept = writeBundleState([...inputs.filter((path) => !path.includes("node_modules/")), DEPENDENCIES], begun);
if (!isKept) console.warn("A source changed while the server was bundled: npm start runs the sources.");
