#!/usr/bin/env -S MALLOC_ARENA_MAX=2 node --max-semi-space-size=8 --heap-growing-percent=75 --expose-gc
// Starts the built server. The options keep its memory small: Node would let the young generation grow to most of what the
// server needs, and the C library would keep an arena for each thread. With the last option, the server gives memory back
// when it has started.
import module from "node:module";
import { fileURLToPath } from "node:url";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 24 || (major === 24 && minor < 2)) {
  console.error(`holtd needs Node 24.2 or newer and this is ${process.versions.node} (${process.execPath}).`);
  process.exit(1);
}
// Half of the threads look names up, one each for as long as a name server takes.
process.env.UV_THREADPOOL_SIZE ??= "16";
// Without the right to write, starts take longer and work the same. NODE_COMPILE_CACHE names another folder.
module.enableCompileCache(process.env.NODE_COMPILE_CACHE ?? fileURLToPath(new URL("../.cache", import.meta.url)));
await import("../lib/holtd.js");
