/** Servers work with a PostgreSQL behind PgBouncer in session mode. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { startServer } from "../harness/harness.ts";
import { hasProgram } from "../harness/has-program.ts";
import { createDatabase } from "../harness/postgres.ts";
import { startPgBouncer } from "../harness/robustness/pgbouncer.ts";
import { until } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

const skip = hasProgram("pgbouncer") ? false : "PgBouncer is not installed";

test("two servers behind PgBouncer write, read, and hear of changed rights", { skip }, async () => {
  await using bouncer = await startPgBouncer(await createDatabase());
  const env = { HOLT_DATABASE_URL: bouncer.url };
  await using world = await startWorld({ env });
  const shared = { ...env, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl };
  await using other = await startServer({ env: shared });
  const group = await world.group(world.orgUid);
  const robot = await world.robot(group, [Capability.CAP_IAM_GROUPS_LIST]);
  const read = async () =>
    (await fetch(`http://127.0.0.1:${other.port}/iam/v2/groups/${group}`, { headers: { authorization: `Bearer ${robot.token}` } })).status;
  // Prepared statements are used again.
  for (let i = 0; i < 20; i++) assert.equal(await read(), 200);
  await Promise.all(Array.from({ length: 20 }, (_, i) => world.group(group, `child-${i}`)));
  const { roleBindings } = await world.must(RoleBindingsService.method.listRoleBindings, { uidp: { childrenOf: group } });
  await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: roleBindings[0]?.uid ?? "" });
  await until(async () => (await read()) === 403);
  for (const { port } of [world, other]) assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
});
