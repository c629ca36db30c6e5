/** A server loads large libraries only where its settings need them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** The number of modules of the AWS SDK that loading the file loads. */
function modulesOfSdk(file: string): number {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({ load(url, context, next) { if (url.includes("@aws-sdk/")) loaded.add(url); return next(url, context); } });
    await import(${JSON.stringify(new URL(file, import.meta.url).href)});
    console.log(loaded.size);
    process.exit();`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }));
}

test("a server without S3 does not load the client of S3", () => {
  assert.ok(modulesOfSdk("../../src/blobs/s3/s3-blobs.ts") > 0);
  assert.equal(modulesOfSdk("../../src/app.ts"), 0);
});
