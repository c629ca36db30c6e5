#!/usr/bin/env node
// Starts the built command line.
import module from "node:module";

module.enableCompileCache?.();
await import("../lib/holt.js");
