import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../harness/free-port.ts";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { createVisitor } from "../harness/sign-in/visitor.ts";
import { CLIENT, startUpstream } from "../harness/upstream-provider.ts";

test("a sign-in that began on one server finishes once, on another server of the same database", async () => {
  await using folder = await temporaryFolder();
  const [one, two] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${one}`;
  await using upstream = await startUpstream({ redirectUris: [`${baseUrl}/oauth/callback`] });
  const common = {
    HOLT_BASE_URL: baseUrl,
    HOLT_DATA_DIR: folder.path,
    HOLT_DATABASE_URL: await createMigratedDatabase(),
    HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8",
    HOLT_LOGIN_ISSUER: upstream.issuer,
    HOLT_LOGIN_CLIENT_ID: CLIENT.id,
    HOLT_LOGIN_CLIENT_SECRET: CLIENT.secret,
  };
  await using _first = await startServer({ store: "postgres", env: { ...common, HOLT_LISTEN: `127.0.0.1:${one}` } });
  await using _second = await startServer({ store: "postgres", env: { ...common, HOLT_LISTEN: `127.0.0.1:${two}` } });
  const visitor = createVisitor(baseUrl, upstream.issuer);
  const start = `${baseUrl}/oauth?redirect=${encodeURIComponent("http://localhost:9/")}`;
  // The person confirms the program once; both servers read the cookie.
  await visitor.walk(start, "alice");
  const callback = new URL(await visitor.walkToCallback(start, "alice"));
  const elsewhere = new URL(callback);
  elsewhere.port = String(two);
  // Behind a load balancer the browser sees one host.
  const cookie = visitor.cookieOf(baseUrl);
  const visit = (url: URL) => fetch(url, { redirect: "manual", headers: { cookie } });
  const answers = await Promise.all([visit(elsewhere), visit(callback), visit(elsewhere)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [303, 400, 400]);
  const location = answers.find(({ status }) => status === 303)?.headers.get("location") ?? "";
  assert.match(location, /^http:\/\/localhost:9\/\?token=ey/);
});
