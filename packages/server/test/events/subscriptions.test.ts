import assert from "node:assert/strict";
import { it } from "node:test";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { errorOf } from "../harness/clients.ts";
import { fieldsOf } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createSubscription, deleteSubscription, getSubscription } = SubscriptionsService.method;

const GOOD = [
  "https://hooks.example.com/holt",
  "https://hooks.example.com",
  "HTTPS://Hooks.Example.com:8443/a%20b/?x=1#part",
  "https://localhost/callback",
  "https://10.0.0.1/inside",
  "https://[2001:db8::1]:444/",
  "https://bücher.example/é?q=ü",
  "https://hooks.example.com/user@example.com?to=a@b",
  `https://hooks.example.com/${"x".repeat(2048 - 26)}`,
];
const BAD = [
  "",
  " ",
  "hooks.example.com",
  "https:",
  "https://",
  "https:///path",
  "https:/hooks.example.com",
  "https:hooks.example.com",
  "https:\\\\hooks.example.com",
  "https://hooks.example.com\\path",
  " https://hooks.example.com",
  "https://hooks.example.com/a b",
  "https://hooks.example.com/\n",
  "https://hooks.example.com/\u0000",
  "https://hooks.ex ample.com",
  "https://hooks.example.com:99999/",
  "https://[::1",
  "https://a%00b/",
  "https://user:secret@hooks.example.com/",
  "https://user@hooks.example.com/",
  "https://@hooks.example.com/",
  "ftp://hooks.example.com/",
  "javascript:alert(1)",
  "file:///etc/passwd",
  `https://hooks.example.com/${"x".repeat(2049 - 26)}`,
];

describeWithWorld("subscriptions", (world) => {
  it("a subscription keeps its sink as it was written", async () => {
    for (const sink of GOOD) {
      const { uid } = await world.must(createSubscription, { parent: world.orgUid, subscription: { sink } });
      assert.equal((await world.must(getSubscription, { uid })).sink, sink);
    }
  });

  it("an invalid sink URL is refused without showing its password", async () => {
    for (const sink of BAD) {
      for (const client of [world.rest, world.grpc]) {
        const error = errorOf(await client.call(createSubscription, { parent: world.orgUid, subscription: { sink } }, world.owner.token));
        assert.equal(error.code, Code.INVALID_ARGUMENT, sink);
        assert.match(error.message, /^Invalid argument: sink: sink must be a valid https URL/);
        assert.deepEqual(fieldsOf(error.details), ["sink"]);
        assert.ok(!JSON.stringify(error).includes("secret"));
      }
    }
  });

  it("an http sink is refused unless the operator allows its address", async () => {
    const codeOf = async (sink: string) => (await world.raw("POST", `/events/v2/subscriptions/${world.orgUid}`, { sink })).status;
    // The settings of these tests allow 127.0.0.0/8.
    for (const sink of ["http://127.0.0.1:8080/", "http://127.1/", "http://0x7f000001/", "http://sink.cluster.local/hook"])
      assert.equal(await codeOf(sink), 200, sink);
    for (const sink of ["http://10.0.0.1/", "http://8.8.8.8/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://169.254.169.254/"])
      assert.equal(await codeOf(sink), 400, sink);
  });

  it("a group can have several subscriptions with one sink", async () => {
    const parent = await world.group(world.orgUid);
    const subscription = { sink: "https://hooks.example.com/" };
    const uids = [];
    for (let i = 0; i < 2; i++) uids.push((await world.must(createSubscription, { parent, subscription })).uid);
    assert.notEqual(uids[0], uids[1]);
  });

  it("a group with subscriptions cannot be deleted", async () => {
    const parent = await world.group(world.orgUid);
    const { uid } = await world.must(createSubscription, { parent, subscription: { sink: "https://hooks.example.com/" } });
    const error = errorOf(await world.rest.call(GroupsService.method.deleteGroup, { uid: parent }, world.owner.token));
    assert.equal(error.message, "Precondition failed: cannot delete group with child resources");
    await world.must(deleteSubscription, { uid });
    await world.must(GroupsService.method.deleteGroup, { uid: parent });
  });

  it("a subscription has a queue until it is deleted", async () => {
    const { uid } = await world.must(createSubscription, { parent: world.orgUid, subscription: { sink: "https://hooks.example.com/" } });
    const queue = () =>
      world.store.reader
        .selectFrom("subscription_queue")
        .select(["failures", "pause_time", "pause_reason"])
        .where("subscription_uid", "=", uid)
        .execute();
    assert.equal((await queue()).length, 1);
    await world.must(deleteSubscription, { uid });
    assert.deepEqual(await queue(), []);
  });
});

describeWithWorld(
  "subscriptions where the operator allows no private address",
  (world) => {
    it("an http sink is refused for any host with a hint to the operator", async () => {
      for (const sink of ["http://hooks.example.com/", "http://localhost/", "http://127.0.0.1/"]) {
        const { status, text } = await world.raw("POST", `/events/v2/subscriptions/${world.orgUid}`, { sink });
        assert.equal(status, 400);
        assert.match(text, /HOLT_OUTBOUND_ALLOW_CIDRS/);
      }
    });
  },
  { env: { HOLT_OUTBOUND_ALLOW_CIDRS: "", HOLT_USER_ISSUERS: "" } },
);
