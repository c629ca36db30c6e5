/** The events that have an entry in the audit log, and the fields of each entry. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { AuditService } from "@holt/api/gen/holt/v1/audit_pb.ts";
import { PullToken_Right, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { rotateKeys } from "../../src/cli/commands.ts";
import { readConfig } from "../../src/config.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { describeWithWorld } from "../harness/world.ts";
import { entriesAfter, lastSeq, listWhen } from "./audit-log.ts";

const { listAuditEntries } = AuditService.method;
const { createGroup, updateGroup, deleteGroup, getGroup } = GroupsService.method;

describeWithWorld("entries of the audit log", (world) => {
  test("the entry of an update names the changed fields before and after", async () => {
    const uid = await world.group(world.orgUid, "before");
    const headers = { authorization: `Bearer ${world.owner.token}`, cgrequestid: "request-of-the-test" };
    const body = JSON.stringify({ name: "after" });
    const answer = await world.http("PATCH", `/iam/v2/groups/${uid}?updateMask=name`, body, headers);
    assert.equal(answer.status, 200, answer.text);
    const [entry] = await listWhen(world, { parent: uid }, ([first]) => first?.action.endsWith("/UpdateGroup") === true);
    assert.equal(entry?.requestId, "request-of-the-test");
    assert.equal(entry?.actor, world.owner.uid);
    assert.equal(entry?.organization, world.orgUid);
    assert.equal(entry?.protocol, "rest");
    assert.equal(entry?.changes.length, 1);
    const [change] = entry?.changes ?? [];
    assert.equal(change?.resource, "Group");
    assert.equal(change?.before?.name, "before");
    assert.equal(change?.after?.name, "after");
    assert.equal("uid" in (change?.after ?? {}), false);
  });

  test("an update that changes nothing and a change that fails write no entry", async () => {
    const uid = await world.group(world.orgUid, "same");
    const before = await lastSeq(world);
    await world.must(updateGroup, { group: { uid, name: "same" }, updateMask: { paths: ["name"] } });
    assert.equal(
      codeOf(await world.rest.call(createGroup, { parent: uid, group: { name: "" } }, world.owner.token)),
      Code.INVALID_ARGUMENT,
    );
    assert.deepEqual(await entriesAfter(world, before), []);
  });

  test("the entry of a deletion has all fields of the resource", async () => {
    const uid = await world.group(world.orgUid, "deleted");
    await world.must(deleteGroup, { uid });
    const [entry] = await listWhen(
      world,
      { parent: world.orgUid, target: uid },
      ([first]) => first?.action.endsWith("/DeleteGroup") === true,
    );
    assert.equal(entry?.changes.find(({ resource }) => resource === "Group")?.before?.name, "deleted");
  });

  test("the entry of a deleted role binding has its identity and role, alone and with its group or identity", async () => {
    const uid = await world.group(world.orgUid, "bound");
    const role = await world.role(uid, [Capability.CAP_IAM_GROUPS_LIST]);
    const { uid: identity } = await world.robot(uid);
    const deletions = [
      (binding: string) => world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding }),
      () => world.must(IdentitiesService.method.deleteIdentity, { uid: identity }),
    ];
    for (const deletion of deletions) {
      const binding = await world.bind(identity, role, uid);
      const before = await lastSeq(world);
      await deletion(binding);
      const [entry] = await entriesAfter(world, before);
      const change = entry?.details.changes?.find((each) => each.uid === binding);
      assert.deepEqual([change?.resource, change?.before?.identityUid, change?.before?.roleUid], ["RoleBinding", identity, role]);
    }
  });

  test("the entry of a redeemed invite has the new role binding and the invite that is used up", async () => {
    const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    const groupInvite = { roleUid, ttl: { seconds: 3600n, nanos: 0 }, singleUse: true };
    const invite = await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.orgUid, groupInvite });
    const proof = await world.proofOf("invited");
    const before = await lastSeq(world);
    const { identity } = await world.must(Auth.method.register, { code: invite.code }, proof);
    const entries = await entriesAfter(world, before);
    const changes = entries.flatMap(({ details }) => details.changes ?? []);
    assert.equal(changes.find(({ resource }) => resource === "RoleBinding")?.after?.identityUid, identity);
    assert.equal(changes.find(({ resource }) => resource === "GroupInvite")?.before?.uid, invite.uid);
    assert.equal(JSON.stringify(entries).includes(invite.code), false);
  });

  test("an invite for a role that the person has already writes an entry, since the person joins and the invite is used up", async () => {
    const person = await world.user("bound before");
    const roleUid = await world.role(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    await world.bind(person.uid, roleUid, world.orgUid);
    const groupInvite = { roleUid, ttl: { seconds: 3600n, nanos: 0 }, singleUse: true };
    const { code } = await world.must(GroupInvitesService.method.createGroupInvite, { parent: world.orgUid, groupInvite });
    const proof = await world.proofOf("bound before");
    const before = await lastSeq(world);
    await world.must(Auth.method.register, { code }, proof);
    const entries = await entriesAfter(world, before);
    assert.deepEqual(
      entries.map(({ action, actor }) => [action, actor]),
      [["platform.auth.v1.Auth/Register", person.uid]],
    );
  });

  test("a login and a registration that give the default role of a provider write an entry with the new binding", async () => {
    await using upstream = await startIssuer({ now: world.clock.now });
    const org = await world.group("", "default-roles");
    const roles = [Capability.CAP_REPO_LIST, Capability.CAP_TAG_LIST, Capability.CAP_IAM_GROUPS_LIST].map((each) =>
      world.role(org, [each]),
    );
    const [first = "", ...others] = await Promise.all(roles);
    const makeProvider = async (clientId: string, defaultRole: string) => {
      const oidc = { issuer: upstream.issuer, clientId, pkceEnabled: true };
      const answer = await world.raw("POST", `/iam/v2/identityProviders/${org}`, { name: clientId, defaultRole, oidc });
      return (JSON.parse(answer.text) as { uid: string }).uid;
    };
    const proof = (aud: string) => upstream.sign({ sub: "ann", aud });
    await makeProvider("first", first);
    const { identity } = await world.must(Auth.method.register, {}, await proof("first"));
    const identityProvider = await makeProvider("second", others[0] ?? "");
    await makeProvider("third", others[1] ?? "");
    const before = await lastSeq(world);
    for (let i = 0; i < 2; i++) await world.must(SecurityTokenService.method.exchange, { identityProvider }, await proof("second"));
    for (let i = 0; i < 2; i++) await world.must(Auth.method.register, {}, await proof("third"));
    const entries = (await entriesAfter(world, before)).filter(({ details }) => details.changes !== undefined);
    assert.deepEqual(
      entries.map(({ action, actor, details }) => [action, actor, details.changes?.map(({ after }) => after?.roleUid)]),
      [
        ["default-role", identity, [others[0]]],
        ["platform.auth.v1.Auth/Register", identity, [others[1]]],
      ],
    );
  });

  test("the entry of a new pull token contains no secret", async () => {
    const pullToken = { name: "ci", rights: [PullToken_Right.IMAGES_PULL] };
    const before = await lastSeq(world);
    const { password } = await world.must(PullTokensService.method.createPullToken, { parent: world.orgUid, pullToken });
    assert.notEqual(password, "");
    const entries = await entriesAfter(world, before);
    assert.equal(entries.length, 1);
    assert.equal(JSON.stringify(entries).includes(password), false);
  });

  test("refusals are recorded with the caller, the reason and the place", async () => {
    const robot = await world.robot(world.orgUid);
    const target = await world.group(world.orgUid, "closed");
    assert.equal(codeOf(await world.grpc.call(getGroup, { uid: target }, robot.token)), Code.PERMISSION_DENIED);
    const [entry] = await listWhen(world, { parent: world.orgUid, refused: true, actor: robot.uid }, ({ length }) => length > 0);
    assert.equal(entry?.outcome, "PERMISSION_DENIED");
    assert.equal(entry?.target, target);
    assert.match(entry?.message ?? "", /groups\.list/);
    assert.equal(entry?.protocol, "grpc");
  });

  test("equal refusals of anonymous callers are counted, and each one is in some entry", async () => {
    for (let i = 0; i < 30; i++) await world.rest.call(getGroup, { uid: world.orgUid }, "garbage");
    const count = (entries: readonly { count: bigint }[]) => entries.reduce((sum, entry) => sum + Number(entry.count || 1n), 0);
    const action = "platform.iam.v2.GroupsService/GetGroup";
    const entries = await listWhen(world, { parent: "", outcome: "UNAUTHENTICATED", action }, (found) => count(found) >= 30);
    assert.equal(count(entries), 30);
  });

  test("issued and refused tokens are recorded", async () => {
    const robot = await world.robot(world.orgUid);
    const action = "platform.oidc.v1.SecurityTokenService/Exchange";
    const [issued] = await listWhen(world, { parent: world.orgUid, action, actor: robot.uid }, ({ length }) => length > 0);
    assert.equal(issued?.outcome, "OK");
    await world.rest.call(SecurityTokenService.method.exchange, { identity: robot.uid }, "garbage");
    const [refused] = await listWhen(world, { parent: "", action, refused: true }, ({ length }) => length > 0);
    assert.equal(refused?.actor, "");
  });

  test("commands of the operator are recorded in the chain of the server", async () => {
    const { databaseUrl: HOLT_DATABASE_URL, dataDir: HOLT_DATA_DIR, baseUrl: HOLT_BASE_URL } = world;
    await rotateKeys(readConfig({ HOLT_DATABASE_URL, HOLT_DATA_DIR, HOLT_BASE_URL, HOLT_LISTEN: new URL(HOLT_BASE_URL).host }));
    const [entry] = await listWhen(world, { parent: "", action: "holtd keys rotate" }, ({ length }) => length > 0);
    assert.equal(entry?.actor, "holtd");
    assert.notEqual(entry?.onBehalfOf.user ?? "", "");
  });
});

describeWithWorld(
  "the audit log with HOLT_AUDIT_READS",
  (world) => {
    test("successful reads of the operations that the setting names are recorded, and others are not", async () => {
      await world.must(getGroup, { uid: world.orgUid });
      await world.must(GroupsService.method.listGroups, {});
      const [entry] = await listWhen(
        world,
        { parent: world.orgUid, action: "platform.iam.v2.GroupsService/GetGroup" },
        ({ length }) => length > 0,
      );
      assert.equal(entry?.outcome, "OK");
      assert.equal(entry?.target, world.orgUid);
      const { entries } = await world.must(listAuditEntries, { parent: "", action: "platform.iam.v2.GroupsService/ListGroups" });
      assert.deepEqual(entries, []);
    });
  },
  { env: { HOLT_AUDIT_READS: "platform.iam.v2.GroupsService/Get*" } },
);
