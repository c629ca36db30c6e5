import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { contractOperations } from "../../../test/harness/contract-operations.ts";
import { createDocsHandler } from "./docs-page.ts";
import { createOpenApiHandler } from "./openapi.ts";

const docs = createDocsHandler();
const openapi = createOpenApiHandler({ operations: contractOperations, baseUrl: "https://holt.test" });
const server = createServer((request, response) => (request.url === "/openapi.json" ? openapi : docs)(request, response));
const get = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, init);

before(() => once(server.listen(0, "127.0.0.1"), "listening"));
after(() => {
  server.closeAllConnections();
  server.close();
});

test("the server serves the page and all files that it refers to", async () => {
  const page = await get("/docs");
  assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
  const html = await page.text();
  const references = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, url = ""]) => url);
  assert.ok(references.length >= 6);
  // `/` is the console.
  for (const url of references.filter((reference) => reference !== "/")) {
    assert.match(url, /^\//, "nothing from elsewhere");
    assert.equal((await get(url)).status, 200, url);
  }
  assert.equal(await (await get("/docs/?x=1")).text(), html);
});

test("the page uses only scripts and styles from files of this server", async () => {
  const page = await get("/docs");
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|http|\*/);
  assert.doesNotMatch(await page.text(), /<script>|<style|style=|\son\w+=/);
  // A style sheet may import others; this one must not.
  assert.doesNotMatch(await (await get("/docs/swagger-ui.css")).text(), /@import|url\((?!["']?data:)/);
});

test("a file that the browser has cached is not sent again", async () => {
  for (const path of ["/docs", "/docs/swagger-ui-bundle.js", "/openapi.json"]) {
    const etag = (await get(path)).headers.get("etag") ?? "";
    const again = await get(path, { headers: { "if-none-match": etag } });
    assert.deepEqual([again.status, await again.text()], [304, ""]);
  }
});

test("a request without compression gets an uncompressed answer", async () => {
  const plain = await get("/openapi.json", { headers: { "accept-encoding": "identity" } });
  assert.equal(plain.headers.get("content-encoding"), null);
  assert.equal((await get("/openapi.json")).headers.get("content-encoding"), "gzip");
  assert.deepEqual(await plain.json(), await (await get("/openapi.json")).json());
});

test("a client that refuses a coding gets none of it", async () => {
  for (const accepted of ["gzip;q=0", "gzip; q=0.000, br;q=0, *", "br, gzip ;q=0", "not-gzip"]) {
    const answer = await get("/openapi.json", { headers: { "accept-encoding": accepted } });
    assert.equal(answer.headers.get("content-encoding"), null, accepted);
    assert.equal(answer.headers.get("vary"), "accept-encoding");
  }
  const rarely = await get("/openapi.json", { headers: { "accept-encoding": "br;q=0,gzip;q=0.001" } });
  assert.equal(rarely.headers.get("content-encoding"), "gzip");
});

test("other files of the package are not served", async () => {
  for (const path of ["/docs/package.json", "/docs/../package.json", "/docs/swagger-ui-bundle.js.map", "/docs/%2e%2e/package.json"]) {
    assert.equal((await get(path)).status, 404, path);
  }
});
