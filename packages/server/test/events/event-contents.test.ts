/** Recorded events name the version of the call, its caller and nothing that did not happen. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { answerOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse } from "../harness/json.ts";
import { eventsAfter, lastSeq } from "../harness/outbox.ts";
import { describeWithWorld, startWorld, type World } from "../harness/world.ts";

const profiles = [
  { profile: "", root: "platform." },
  { profile: "chainguard", root: "chainguard.platform." },
];

for (const store of storeNames) {
  for (const { profile, root } of profiles) {
    describe(`events of gRPC calls on ${store} with vendor profile "${profile}"`, () => {
      let world: World;
      before(async () => {
        world = await startWorld({ store, env: { HOLT_VENDOR_PROFILE: profile } });
      });
      after(() => world[Symbol.asyncDispose]());

      test("an event names the version of the gRPC service that was called", async () => {
        for (const version of ["v2", "v2beta1"]) {
          for (const packageRoot of new Set(["platform.", root])) {
            const before = await lastSeq(world);
            const method = renamed(GroupsService.method.createGroup, `${packageRoot}iam.${version}.GroupsService`);
            const { uid } = answerOf(await world.grpc.call(method, { parent: world.orgUid, group: { name: "x" } }, world.owner.token));
            const [event, ...more] = await eventsAfter(world, before);
            assert.deepEqual([event?.subject, more], [uid, []]);
            assert.equal(event?.source, `${world.baseUrl}/iam/${version}/groups`);
            assert.equal(event?.body_type, `${root}iam.${version}.Group`);
          }
        }
      });
    });
  }
}

describeWithWorld("recorded events", (world) => {
  test("reads, deletions of missing resources, repeated registrations and token exchanges emit no event", async () => {
    const robot = await world.robot(world.orgUid);
    await world.user("known");
    const before = await lastSeq(world);
    await world.user("known");
    await world.signIn(robot.uid);
    await world.narrow(robot, {});
    await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: `${world.orgUid}/0123456789abcdef` });
    for (const path of [`/iam/v2/groups/${world.orgUid}`, "/iam/v2/identities:lookupIdentity?issuer=a&subject=b", "/auth/v1/ok"])
      assert.equal((await world.raw("GET", path)).status, 200);
    assert.deepEqual(await eventsAfter(world, before), []);
  });

  test("an event names the identity that acted and the claims of its sign-in", async () => {
    const group = await world.group(world.orgUid);
    const user = await world.user("actor");
    await world.bind(user.uid, await builtInRole(world, "owner"), group);
    await world.join(user, group);
    const before = await lastSeq(world);
    await world.raw("POST", `/iam/v2/groups/${group}`, { name: "made" }, user.token);
    const [event] = await eventsAfter(world, before);
    const { actor } = parse(event?.data ?? "") as { actor: { subject: string; act: Record<string, string> } };
    assert.equal(actor.subject, user.uid);
    const { iss, sub, aud } = actor.act;
    assert.deepEqual({ iss, sub, aud }, { iss: world.issuer, sub: "actor", aud: world.baseUrl });
    for (const value of Object.values(actor.act)) assert.equal(typeof value, "string");
  });

  test("events keep the order of their writes when writes in between fail", async () => {
    const before = await lastSeq(world);
    const created: string[] = [];
    for (let i = 0; i < 5; i++) {
      created.push(await world.group(world.orgUid, `g${i}`));
      await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "NOT A NAME" });
    }
    assert.deepEqual(
      (await eventsAfter(world, before)).map(({ subject }) => subject),
      created,
    );
  });
});

/** The method as a service of another name has it. */
function renamed<M extends DescMethodUnary>(method: M, typeName: string): M {
  const parent = { ...method.parent, typeName, methods: [] as M[] };
  const copy = { ...method, parent };
  parent.methods.push(copy);
  return copy;
}
