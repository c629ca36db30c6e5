/** Request targets that are whole URLs, over HTTP/1.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startServer } from "../harness/harness.ts";
import { talk } from "../harness/raw-clients.ts";

test("a request target that is a whole URL is served like its path, on every route", async () => {
  await using server = await startServer();
  const statusOf = async (target: string) =>
    (await talk(server.port, `GET ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)).slice(0, 12);
  for (const target of ["http://a/healthz", "HTTPS://other.test:8080/healthz?x=http://b/"])
    assert.equal(await statusOf(target), "HTTP/1.1 200", target);
  for (const path of ["/", "/?a=b", "/v2/", "/iam/v2/groups", "/a/../healthz", "//healthz", "/%68ealthz"])
    assert.equal(await statusOf(`http://a${path}`), await statusOf(path), path);
  assert.equal(await statusOf("http://a"), await statusOf("/"));
  assert.equal(await statusOf("http://a?a=b"), await statusOf("/?a=b"));
  for (const path of ["/healthz", "/v2/", "/iam/v2/groups"]) {
    assert.match(await statusOf(`http://${path}`), / 40[04]$/);
    for (const start of ["http://user@a", "ftp://a", "*://a"]) assert.equal(await statusOf(start + path), "HTTP/1.1 404", start + path);
    assert.equal(await statusOf(`*${path.slice(1)}`), "HTTP/1.1 404", path);
  }
});
