/** A server loads large libraries only where its settings or its requests need them. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The packages in node_modules whose modules loading the file loads. */
async function packagesLoadedBy(file: string): Promise<ReadonlySet<string>> {
  const script = `
    import { registerHooks } from "node:module";
    const loaded = new Set();
    registerHooks({
      load(url, context, next) {
        const [, name] = /.*[/]node_modules[/]((?:@[^/]+[/])?[^/]+)/.exec(url) ?? [];
        if (name !== undefined) loaded.add(name);
        return next(url, context);
      },
    });
    await import(${JSON.stringify(new URL(file, import.meta.url).href)});
    console.log(JSON.stringify([...loaded]));
    process.exit();`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script]);
  return new Set(JSON.parse(stdout) as string[]);
}

/** Package → a file of the server that loads it. Together they take a sixth of the memory of a server. */
const ON_FIRST_USE = {
  "@aws-sdk/client-s3": "blobs/s3/s3-blobs.ts",
  "@fastify/busboy": "libraries/python/http/python-protocol.ts",
  "@opentelemetry/api": "tracing/open-telemetry.ts",
  entities: "libraries/java/http/java-protocol.ts",
  "markdown-it": "api/openapi/manual.ts",
  pg: "db/postgres.ts",
  "prom-client": "metrics/prometheus.ts",
  saxes: "libraries/java/http/java-protocol.ts",
  scimmy: "scim/http/scim-handler.ts",
  "tar-stream": "archives/tar-entries.ts",
  undici: "outbound/agent.ts",
  yaml: "lib/yaml.ts",
  yauzl: "archives/zip-archive.ts",
} as const;

test("a plain start loads no library that only some servers or requests need", async () => {
  const loaded = await packagesLoadedBy("../../src/serve.ts");
  assert.ok(loaded.has("kysely"));
  assert.deepEqual(
    Object.keys(ON_FIRST_USE).filter((name) => loaded.has(name)),
    [],
  );
});

test("each library that is loaded on first use is loaded by the file that uses it", async () => {
  for (const file of new Set(Object.values(ON_FIRST_USE))) {
    const loaded = await packagesLoadedBy(`../../src/${file}`);
    for (const [name, user] of Object.entries(ON_FIRST_USE)) if (user === file) assert.ok(loaded.has(name), `${file}: ${name}`);
  }
});
