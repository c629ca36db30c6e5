/** A running server replaces its signing key by itself. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { get, printedToken, startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { until } from "../harness/wait.ts";

test("a server rotates its signing key by the setting, and accepts the tokens of the old one", async () => {
  await using folder = await temporaryFolder();
  const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${await freePort()}`, HOLT_SIGNING_KEY_ROTATION: "1s" };
  await using server = await startHoltd(settings);
  const token = await printedToken(settings);
  const keys = async () => ((await (await fetch(`${server.baseUrl}/.well-known/jwks.json`)).json()) as { keys: { kid: string }[] }).keys;
  const first = await keys();
  await until(async () => (await keys()).length >= first.length + 2);
  const now = new Set((await keys()).map(({ kid }) => kid));
  for (const { kid } of first) assert.ok(now.has(kid), "an old key is not published any more");
  assert.equal((await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token)).status, 200);
});
