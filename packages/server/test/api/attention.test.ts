/** Tests what needs the attention of administrators, and that callers see only what they may list. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AttentionService, AttentionItem_Kind as Kind } from "@holt/api/gen/holt/v1/attention_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listAttention } = AttentionService.method;
const DAY = 86_400n;

describeWithWorld("attention", (world) => {
  test("resources that fail or expire soon are listed below their group, to callers who may list them", async () => {
    const group = await world.group(world.orgUid);
    const roleUid = await builtInRole(world, "viewer");
    const { createPullToken } = PullTokensService.method;
    const rights = [PullToken_Right.IMAGES_PULL];
    await world.must(createPullToken, { parent: group, pullToken: { name: "soon", rights, ttl: { seconds: 3n * DAY } } });
    await world.must(createPullToken, { parent: group, pullToken: { name: "later", rights, ttl: { seconds: 60n * DAY } } });
    const invite = { roleUid, ttl: { seconds: DAY } };
    await world.must(GroupInvitesService.method.createGroupInvite, { parent: group, groupInvite: invite });
    const subscription = { sink: "https://hooks.invalid/holt" };
    const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription });
    await world.store.transaction((db) =>
      db
        .updateTable("subscription_queue")
        .set({ failures: 2, failing_time: world.clock.now().toISOString() })
        .where("subscription_uid", "=", uid)
        .execute(),
    );

    const { items } = await world.must(listAttention, { uid: world.orgUid });
    const here = items.filter((item) => item.uid.startsWith(group));
    assert.deepEqual(
      here.map(({ kind, name }) => [kind, name]).sort(),
      [
        [Kind.WEBHOOK, subscription.sink],
        [Kind.PULL_TOKEN, "soon"],
        [Kind.INVITE, ""],
      ].sort(),
    );
    const other = await world.group(world.orgUid);
    assert.deepEqual((await world.must(listAttention, { uid: other })).items, []);
    const robot = await world.robot(group);
    const role = await world.role(group, [Capability.CAP_IAM_GROUPS_LIST, Capability.CAP_IAM_GROUP_INVITES_LIST]);
    await world.bind(robot.uid, role, group);
    const seen = await world.must(listAttention, { uid: group }, robot.token);
    assert.deepEqual(
      seen.items.map(({ kind }) => kind),
      [Kind.INVITE],
    );
  });
});
