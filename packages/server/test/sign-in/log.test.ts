import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { startHoltd, temporaryFolder } from "../harness/holtd.ts";
import { createVisitor } from "../harness/sign-in/visitor.ts";
import { CLIENT, startUpstream } from "../harness/upstream-provider.ts";
import { until } from "../harness/wait.ts";

test("the log says who signed in, and contains no token, code, state, cookie or client secret", async () => {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  await using upstream = await startUpstream({ redirectUris: [`${baseUrl}/oauth/callback`] });
  await using folder = await temporaryFolder();
  await using server = await startHoltd({
    HOLT_LISTEN: `127.0.0.1:${port}`,
    HOLT_DATA_DIR: folder.path,
    HOLT_LOG_LEVEL: "debug",
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    HOLT_LOGIN_ISSUER: upstream.issuer,
    HOLT_LOGIN_CLIENT_ID: CLIENT.id,
    HOLT_LOGIN_CLIENT_SECRET: CLIENT.secret,
  });
  const visitor = createVisitor(baseUrl, upstream.issuer);
  const start = `${baseUrl}/oauth?create_refresh_token=true&redirect=${encodeURIComponent("http://localhost:9/cb")}`;
  const callback = new URL(await visitor.walkToCallback(start, "alice"));
  const { searchParams } = new URL((await visitor.walk(callback.href, "alice")).url);
  // Failures must be logged without secrets, too.
  const late = new URL(await visitor.walkToCallback(start, "alice"));
  upstream.setDown(true);
  assert.match((await visitor.walk(late.href, "alice")).url, /status_code=502/);
  await visitor.visit(callback.href);

  // The last of the lines. Lines of level info are written in batches.
  await until(() => /"msg":"a sign-in was refused"/.test(server.stderr()));
  const log = server.stderr();
  assert.match(log, /"msg":"a person signed in"/);
  assert.match(log, /"msg":"an identity provider failed to sign a person in"/);
  const secrets = [callback, late].flatMap((url) => [url.searchParams.get("code"), url.searchParams.get("state")]);
  secrets.push(searchParams.get("token"), searchParams.get("refresh_token"), CLIENT.secret, "Basic ", "Bearer ", "code_verifier");
  for (const secret of secrets) {
    assert.ok(secret);
    assert.ok(!log.includes(secret), `the log holds ${secret}`);
  }
});
