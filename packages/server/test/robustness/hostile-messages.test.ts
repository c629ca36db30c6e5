/** Sends binary messages that are slow or large to decode over gRPC. A call must cost the main thread little CPU time and memory. */
import { after, before, test } from "node:test";
import { createCostChecks } from "../harness/robustness/cost-checks.ts";
import { protobufMessages } from "../harness/robustness/hostile-messages.ts";
import { type MeteredClient, startMeteredClient } from "../harness/robustness/metered-client.ts";
import { startWorld, type World } from "../harness/world.ts";

const KIB = 1024;
/** The limit of a message, with room for the heads of fields. */
const LARGEST = 4 * KIB * KIB - 64;

let world: World;
let client: MeteredClient;
before(async () => {
  world = await startWorld();
  client = startMeteredClient(world.baseUrl, world.token);
});
after(async () => {
  await client[Symbol.asyncDispose]();
  await world[Symbol.asyncDispose]();
});
const { assertAllCheap } = createCostChecks(() => client);

/** The number of a field of the request that has a message. */
const METHODS = {
  "platform.iam.v2.RoleBindingsService/BatchCreateRoleBindings": 2,
  "platform.iam.v2.RolesService/CreateRole": 2,
  "platform.iam.v2.IdentitiesService/CreateIdentity": 2,
  "platform.registry.v2.ReposService/CreateRepo": 2,
  "platform.registry.v2.ReposService/ListRepos": 1,
};

for (const [method, field] of Object.entries(METHODS)) {
  test(`no message to ${method} costs the main thread much`, async () => {
    await assertAllCheap(protobufMessages(field), [KIB, LARGEST], (body) => ({ ...CALL, path: `/${method}`, body }));
  });
}

const CALL = { method: "POST", isGrpc: true };
