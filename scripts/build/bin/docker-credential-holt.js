#!/usr/bin/env node
// The name by which docker finds `holt credential-helper`.
process.argv.splice(2, 0, "credential-helper");
await import("../lib/holt.js");
