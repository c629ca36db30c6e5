/** Shows what a test that needs a server looks like. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "./clients.ts";
import { assertInvalid } from "./refusal.ts";
import { describeWithWorld } from "./world.ts";

const { getGroup, createGroup } = GroupsService.method;

describeWithWorld("the example of the test harness", (world) => {
  test("an identity with groups.list reads a group over REST and gRPC but cannot create one", async () => {
    const group = await world.group(world.orgUid, "team");
    const reader = await world.robot(group, [Capability.CAP_IAM_GROUPS_LIST]);
    for (const client of world.clients) {
      const read = await client.call(getGroup, { uid: group }, reader.token);
      assert.equal(answerOf(read).name, "team");
      const refused = await client.call(createGroup, { parent: group, group: { name: "squad" } }, reader.token);
      assert.equal(codeOf(refused), Code.PERMISSION_DENIED);
    }
  });

  test("a group with an invalid name is refused", async () => {
    assertInvalid(await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "NOT A NAME" }), "name");
  });
});
