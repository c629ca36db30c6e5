import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionsService } from "@holt/api/gen/holt/v1/sessions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { freePort } from "../harness/free-port.ts";
import { startServer } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createMigratedDatabase } from "../harness/migrated-database.ts";
import { createHolder, inviteTo, nextCode, tokenOf } from "../harness/sign-in/account-visitor.ts";
import { startSignInWorld } from "../harness/sign-in/sign-in-world.ts";
import { until } from "../harness/wait.ts";

test("a password sign-in that began on one server finishes once on another, and a session ends on both", async () => {
  await using folder = await temporaryFolder();
  const common = { HOLT_DATA_DIR: folder.path, HOLT_DATABASE_URL: await createMigratedDatabase() };
  await using world = await startSignInWorld({ store: "postgres", hasOperator: false, env: common });
  const second = `127.0.0.1:${await freePort()}`;
  const env = { ...common, HOLT_BASE_URL: world.baseUrl, HOLT_LISTEN: second };
  await using other = await startServer({ store: "postgres", env, clock: world.clock });
  const holder = await createHolder(world, "ada@example.test", await inviteTo(world));

  const visitor = world.visitor();
  const page = await visitor.visit(`${world.baseUrl}/oauth`);
  const handle = /name="handle" value="([^"]*)"/.exec(page.text)?.[1] ?? assert.fail(page.text);
  const { email, password } = holder;
  const fields = { handle, email, password, code: nextCode(world, holder.secret) };
  // Behind a load balancer the browser sees one host.
  const headers = { cookie: visitor.cookieOf(world.baseUrl) };
  const send = (server: string) =>
    fetch(`${server}/oauth/account/sign-in`, { method: "POST", headers, body: new URLSearchParams(fields), redirect: "manual" });
  const answers = await Promise.all([send(`http://${second}`), send(`http://${second}`)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
  assert.equal((await send(world.baseUrl)).status, 400);
  const done = answers.find(({ status }) => status === 200) ?? assert.fail();
  const token = tokenOf({ url: done.url, status: 200, headers: done.headers, text: await done.text() });

  const list = async ({ rest }: Pick<typeof other, "rest">) => codeOf(await rest.call(GroupsService.method.listGroups, {}, token));
  assert.deepEqual([await list(world), await list(other)], [0, 0]);
  await world.must(SessionsService.method.endSessions, {}, token);
  assert.equal(await list(world), Code.UNAUTHENTICATED);
  await until(async () => (await list(other)) === Code.UNAUTHENTICATED);
});
