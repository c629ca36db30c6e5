#!/usr/bin/env -S node --max-semi-space-size=8 --heap-growing-percent=75 --expose-gc
// The flags keep the heap small. Node would let the young generation grow to 128 MB, which is most of what the server needs, and the
// old one to several times its contents before it collects garbage there. With the last one, the server gives memory back when it has
// started.
// Starts holtd. Plain JavaScript, so that a Node that cannot run the server's TypeScript says so instead of failing to parse it.
// Not a named import: older versions of Node, which are refused below, do not have the function.
import module from "node:module";
import { fileURLToPath } from "node:url";
import { bundleIsCurrent } from "./bundle-state.js";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 2)) {
  console.error(
    `holtd needs Node 24.2 or newer and this is ${process.versions.node} (${process.execPath}).\n` +
      "In a checkout, `npm ci` installs the right one and `npm start` uses it.",
  );
  process.exit(1);
}
// npm runs its scripts through a shell, which dies of a signal without passing it on. Whoever stops `npm start` means the
// server, so it stops when its parent is gone.
if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    // The server takes a second signal to mean that it must not wait.
    clearInterval(watch);
    process.kill(process.pid, "SIGTERM");
  }, 500).unref();
}
// Half of the threads look names up, one each for as long as a name server takes (src/outbound/name-lookup.ts).
process.env.UV_THREADPOOL_SIZE ??= "16";
// Keeps the compiled modules beside the dependencies, which saves about 40% of the CPU time of a start. Not in the system's folder for
// temporary files: another user could leave code there. Without the right to write, starts take longer and work the same.
module.enableCompileCache(fileURLToPath(new URL("../../../node_modules/.cache/holtd", import.meta.url)));
// Node, which restarts a watched server, watches the files that it has loaded, so it needs the sources.
const isWatched = process.env.WATCH_REPORT_DEPENDENCIES !== undefined;
await import(!isWatched && bundleIsCurrent() ? "../dist/holtd.js" : "../src/main.ts");
