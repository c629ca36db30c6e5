import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { capabilityByName, isInternalOnly } from "@holt/api";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { type Client, codeOf, createGrpcClient, createRestClient, errorOf } from "../harness/clients.ts";
import { startServer, storeNames } from "../harness/harness.ts";
import { createDatabase } from "../harness/postgres.ts";
import {
  asRead,
  builtInRole,
  collectionOf,
  domainOf,
  fieldOf,
  groupOf,
  hasMethod,
  methodOf,
  parse,
  placeFor,
  placeForOne,
  resources,
  type Sample,
  startSampleWorld,
  textOf,
} from "../harness/samples.ts";
import { type Caller, startWorld, type World } from "../harness/world.ts";

const { CAP_IAM_GROUPS_LIST, CAP_IAM_GROUPS_CREATE, CAP_REPO_LIST } = Capability;
const VERBS = ["Get", "Update", "Delete"] as const;

for (const store of storeNames) {
  describe(`rights on ${store}`, () => {
    let world: World;
    let clients: Client[];
    before(async () => {
      world = await startSampleWorld({ store });
      clients = [world.rest, world.grpc];
    });
    after(() => world[Symbol.asyncDispose]());

    const mayRead = async ({ token }: Caller, uid: string): Promise<boolean> => {
      const codes = await Promise.all(
        clients.map(async (client) => codeOf(await client.call(GroupsService.method.getGroup, { uid }, token))),
      );
      assert.equal(codes[0], codes[1]);
      assert.ok(codes[0] === 0 || codes[0] === Code.PERMISSION_DENIED, `code ${codes[0]}`);
      return codes[0] === 0;
    };
    const listed = async ({ token }: Caller): Promise<string[]> =>
      (await world.must(GroupsService.method.listGroups, { pageSize: 200 }, token)).groups.map(({ uid }) => uid);

    for (const sample of resources) {
      it(`to a ${sample.kind} are its own capability for each verb: with it alone it works, with all others it does not`, async () => {
        const group = await world.group(world.orgUid);
        const places = await placeFor(world, sample, group);
        for (const verb of verbsOf(sample)) {
          const place = await placeForOne(world, sample, places);
          const capability = capabilityFor(sample, verb);
          const others = [...capabilityByName.values()].filter(
            (each) => each !== capability && each !== Capability.CAP_INTERNAL && !isInternalOnly(each),
          );
          const created = await world.raw("POST", `${collectionOf(sample)}/${place}`, await sample.make(world, place, verb.toLowerCase()));
          const made = parse(asRead(sample, created.text));
          const uid = textOf(made.uid);
          const needed = [capability, ...(await alsoNeeded(world, sample, verb))];
          const holders = groupOf(sample, group, place);
          const able = await world.robot(holders, needed);
          const unable = await world.robot(holders, others);
          for (const client of clients) {
            const outcome = await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), unable.token);
            const { code, details } = errorOf(outcome);
            assert.equal(code, Code.PERMISSION_DENIED);
            assert.deepEqual(details, [
              {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                reason: "PERMISSION_DENIED",
                domain: `${domainOf(sample)}.holt.dev`,
                metadata: { capability: nameOf(capability), resource: uid },
              },
            ]);
          }
          const before = (await world.raw("GET", `${collectionOf(sample)}/${uid}`)).text;
          assert.deepEqual(parse(before), made);
          const outcome = await world.rest.call(methodOf(sample, verb), requestFor(sample, verb, uid), able.token);
          assert.equal(codeOf(outcome), 0, outcome.ok ? "" : outcome.error.message);
        }
      });

      it(`that are missing hide whether a ${sample.kind} exists`, async () => {
        const place = await placeFor(world, sample, await world.group(world.orgUid));
        const stranger = await world.user();
        const existing = textOf(
          parse((await world.raw("POST", `${collectionOf(sample)}/${place}`, await sample.make(world, place, "there"))).text).uid,
        );
        for (const client of clients) {
          for (const verb of verbsOf(sample)) {
            const refusalOf = async (uid: string) => {
              const error = errorOf(await client.call(methodOf(sample, verb), requestFor(sample, verb, uid), stranger.token));
              return JSON.parse(JSON.stringify(error).replaceAll(uid, "UID"));
            };
            const refused = await refusalOf(existing);
            assert.equal(refused.code, Code.PERMISSION_DENIED);
            for (const uid of [newUid(place), newUid(newUid(place)), newUid(newUid(world.orgUid))])
              assert.deepEqual(await refusalOf(uid), refused);
            // Where there is not even an organization there is nothing to hide.
            for (const uid of [newUid(""), newUid(newUid(""))]) assert.equal((await refusalOf(uid)).code, Code.NOT_FOUND);
          }
          const createIn = async (parent: string) => {
            const request = fromJson(methodOf(sample, "Create").input, {
              parent,
              [fieldOf(sample)]: await sample.make(world, place, "new"),
            });
            const error = errorOf(await client.call(methodOf(sample, "Create"), request, stranger.token));
            return JSON.parse(JSON.stringify(error).replaceAll(parent, "UID"));
          };
          const refused = await createIn(place);
          assert.equal(refused.code, Code.PERMISSION_DENIED);
          assert.deepEqual(await createIn(newUid(place)), refused);
        }
      });
    }

    it("begin and end with a binding, for the very next request", async () => {
      const group = await world.group(world.orgUid);
      const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]);
      for (const who of [await world.user(), await world.robot(world.orgUid)]) {
        for (let round = 0; round < 3; round++) {
          assert.equal(await mayRead(who, group), false);
          assert.deepEqual(await listed(who), []);
          const binding = await world.bind(who.uid, role, group);
          assert.equal(await mayRead(who, group), true);
          assert.deepEqual(await listed(who), [group]);
          await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
        }
        assert.equal(await mayRead(who, group), false);
      }
    });

    it("that have ended leave nothing behind a page token", async () => {
      const group = await world.group(world.orgUid);
      const who = await world.user();
      const binding = await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
      for (let i = 0; i < 3; i++) await world.group(group);
      const page = (pageToken: string) => world.must(GroupsService.method.listGroups, { pageSize: 2, pageToken }, who.token);
      const first = await page("");
      assert.deepEqual([first.groups.length, first.totalCount], [2, 4n]);
      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
      const second = await page(first.nextPageToken);
      assert.deepEqual([second.groups, second.totalCount, second.nextPageToken], [[], 0n, ""]);
    });

    it("follow a binding to another role and another identity, for the very next request", async () => {
      const group = await world.group(world.orgUid);
      const [first, second] = [await world.user(), await world.user()];
      const [reading, other] = [await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), await world.role(world.orgUid, [CAP_REPO_LIST])];
      const uid = await world.bind(first.uid, other, group);
      const update = (roleBinding: object) =>
        world.must(RoleBindingsService.method.updateRoleBinding, { roleBinding: { uid, ...roleBinding } });
      assert.equal(await mayRead(first, group), false);
      await update({ roleUid: reading });
      assert.equal(await mayRead(first, group), true);
      await update({ identityUid: second.uid });
      assert.deepEqual([await mayRead(first, group), await mayRead(second, group)], [false, true]);
      await update({ roleUid: other });
      assert.deepEqual([await mayRead(first, group), await mayRead(second, group)], [false, false]);
    });

    it("follow what is in a role, for the very next request", async () => {
      const group = await world.group(world.orgUid);
      const role = await world.role(group, [CAP_REPO_LIST]);
      const who = await world.user();
      await world.bind(who.uid, role, group);
      const set = (capabilities: Capability[]) =>
        world.must(RolesService.method.updateRole, { role: { uid: role, capabilities }, updateMask: { paths: ["capabilities"] } });
      for (let round = 0; round < 2; round++) {
        assert.equal(await mayRead(who, group), false);
        await set([CAP_IAM_GROUPS_LIST]);
        assert.equal(await mayRead(who, group), true);
        await set([CAP_REPO_LIST]);
      }
      assert.equal(await mayRead(who, group), false);
    });

    it("end with the group that the binding was in", async () => {
      const group = await world.group(world.orgUid);
      const who = await world.user();
      await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
      assert.equal(await mayRead(who, group), true);
      await world.must(GroupsService.method.deleteGroup, { uid: group });
      assert.equal(await mayRead(who, group), false);
      assert.deepEqual(await listed(who), []);
    });

    it("of a deleted identity are none: its tokens are worth nothing", async () => {
      const who = await world.robot(world.orgUid, [CAP_IAM_GROUPS_LIST]);
      assert.equal(await mayRead(who, world.orgUid), true);
      await world.must(IdentitiesService.method.deleteIdentity, { uid: who.uid });
      for (const client of clients) {
        const get = await client.call(GroupsService.method.getGroup, { uid: world.orgUid }, who.token);
        const list = await client.call(GroupsService.method.listGroups, {}, who.token);
        const exchange = await client.call(SecurityTokenService.method.exchange, {}, who.token);
        assert.deepEqual([get, list, exchange].map(codeOf), [Code.UNAUTHENTICATED, Code.UNAUTHENTICATED, Code.UNAUTHENTICATED]);
      }
    });

    it("of an identity made in a group hold in that group and below, whatever is bound to it", async () => {
      const home = await world.group(world.orgUid, "home");
      const room = await world.group(home, "room");
      const neighbour = await world.group(world.orgUid, "neighbour");
      const robot = await world.robot(home);
      const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST, CAP_IAM_GROUPS_CREATE]);
      await world.bind(robot.uid, role, world.orgUid);
      assert.deepEqual(await Promise.all([world.orgUid, neighbour, home, room].map((group) => mayRead(robot, group))), [
        false,
        false,
        true,
        true,
      ]);
      assert.deepEqual((await listed(robot)).toSorted(), [home, room].toSorted());
      const answer = await world.raw("POST", `/iam/v2/groups/${world.orgUid}`, { name: "x" }, robot.token);
      assert.equal(answer.status, 403, answer.text);
      assert.equal((await world.raw("POST", `/iam/v2/groups/${room}`, { name: "x" }, robot.token)).status, 200);
    });

    it("of an identity made in a group begin no higher than the binding", async () => {
      const home = await world.group(world.orgUid, "home");
      const room = await world.group(home, "room");
      const robot = await world.robot(home);
      await world.bind(robot.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), room);
      assert.deepEqual([await mayRead(robot, home), await mayRead(robot, room)], [false, true]);
    });

    it("cannot be given where the identity cannot act", async () => {
      const [home, neighbour] = [await world.group(world.orgUid), await world.group(world.orgUid)];
      const robot = await world.robot(home);
      const role = await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]);
      const roleBinding = { identityUid: robot.uid, roleUid: role };
      for (const client of clients) {
        const outcome = await client.call(
          RoleBindingsService.method.createRoleBinding,
          { parent: neighbour, roleBinding },
          world.owner.token,
        );
        assert.deepEqual(violationsOf(errorOf(outcome)), [Code.INVALID_ARGUMENT, ["identity_uid"]]);
      }
      const user = await world.user();
      const binding = await world.bind(user.uid, role, neighbour);
      const moved = await world.raw("PATCH", `/iam/v2/roleBindings/${binding}`, { identityUid: robot.uid });
      assert.equal(moved.status, 400);
    });

    it("are narrowed by a token to its scopes", async () => {
      const [a, b] = [await world.group(world.orgUid, "a"), await world.group(world.orgUid, "b")];
      const below = await world.group(a, "below");
      const narrow = await world.narrow(world.owner, { scopes: [a] });
      assert.deepEqual(await Promise.all([world.orgUid, b, a, below].map((group) => mayRead(narrow, group))), [false, false, true, true]);
      assert.deepEqual((await listed(narrow)).toSorted(), [a, below].toSorted());
      const founding = await world.raw("POST", "/iam/v2/groups", { name: "org" }, narrow.token);
      assert.equal(founding.status, 403);
    });

    it("are narrowed by a token to its capabilities", async () => {
      const group = await world.group(world.orgUid);
      const narrow = await world.narrow(world.owner, { cap: ["groups.list"] });
      assert.equal(await mayRead(narrow, group), true);
      assert.equal((await world.raw("POST", `/iam/v2/groups/${group}`, { name: "x" }, narrow.token)).status, 403);
      assert.equal((await world.raw("GET", `/iam/v2/identities?uidp.childrenOf=${group}`, undefined, narrow.token)).status, 200);
      assert.equal((await world.raw("DELETE", `/iam/v2/groups/${group}`, undefined, narrow.token)).status, 403);
    });

    it("do not come back by exchanging a narrowed token", async () => {
      const [a, b] = [await world.group(world.orgUid, "a"), await world.group(world.orgUid, "b")];
      const narrow = await world.narrow(world.owner, { scopes: [a], cap: ["groups.list"] });
      const again = await world.narrow(narrow, { cap: ["groups.list", "groups.create", "groups.delete"] });
      assert.deepEqual([await mayRead(again, a), await mayRead(again, b)], [true, false]);
      assert.equal((await world.raw("POST", `/iam/v2/groups/${a}`, { name: "x" }, again.token)).status, 403);
      for (const scope of [b, world.orgUid]) {
        const outcome = await world.rest.call(SecurityTokenService.method.exchange, { scopes: [scope] }, narrow.token);
        assert.equal(codeOf(outcome), Code.PERMISSION_DENIED);
      }
    });

    it("that a narrowed token leaves are still live", async () => {
      const group = await world.group(world.orgUid);
      const who = await world.user();
      const binding = await world.bind(who.uid, await world.role(world.orgUid, [CAP_IAM_GROUPS_LIST]), group);
      const narrow = await world.narrow(who, { scopes: [group], cap: ["groups.list"] });
      assert.equal(await mayRead(narrow, group), true);
      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
      assert.equal(await mayRead(narrow, group), false);
    });
  });
}

describe("rights on two servers with one database", () => {
  it("that are given or taken on one hold on the other within a second", async () => {
    const url = await createDatabase();
    await using world = await startWorld({ env: { HOLT_DATABASE_URL: url } });
    // The other server has the same name to the outside, as behind a load balancer.
    await using other = await startServer({
      clock: world.clock,
      env: { HOLT_DATABASE_URL: url, HOLT_DATA_DIR: world.dataDir, HOLT_BASE_URL: world.baseUrl },
    });
    const there = `http://127.0.0.1:${other.port}`;
    assert.notEqual(there, world.baseUrl);
    await using rest = createRestClient(there);
    await using grpc = createGrpcClient(there);
    const group = await world.group(world.orgUid);
    const role = await world.role(group, [CAP_IAM_GROUPS_LIST]);
    const who = await world.user();
    const codes = () =>
      Promise.all([rest, grpc].map(async (client) => codeOf(await client.call(GroupsService.method.getGroup, { uid: group }, who.token))));
    const becomes = async (code: number) => {
      const deadline = performance.now() + 1000;
      let seen = await codes();
      while (seen.some((each) => each !== code) && performance.now() < deadline) seen = await codes();
      assert.deepEqual(seen, [code, code]);
      // And it stays so.
      for (let i = 0; i < 5; i++) assert.deepEqual(await codes(), [code, code]);
    };
    await becomes(Code.PERMISSION_DENIED);
    for (let round = 0; round < 3; round++) {
      const binding = await world.bind(who.uid, role, group);
      await becomes(0);
      await world.must(RolesService.method.updateRole, { role: { uid: role, capabilities: [CAP_REPO_LIST] } });
      await becomes(Code.PERMISSION_DENIED);
      await world.must(RolesService.method.updateRole, { role: { uid: role, capabilities: [CAP_IAM_GROUPS_LIST] } });
      await becomes(0);
      await world.must(RoleBindingsService.method.deleteRoleBinding, { uid: binding });
      await becomes(Code.PERMISSION_DENIED);
    }
  });
});

function verbsOf(sample: Sample) {
  return VERBS.filter((verb) => hasMethod(sample, verb));
}

function requestFor(sample: Sample, verb: (typeof VERBS)[number], uid: string) {
  const { input } = methodOf(sample, verb);
  if (verb !== "Update") return fromJson(input, { uid });
  return fromJson(input, { [fieldOf(sample)]: { uid, ...sample.smallChange } });
}

/** The table of capabilities says it by their names: Get needs the list capability, and so on. */
function capabilityFor({ kind }: Sample, verb: (typeof VERBS)[number]): Capability {
  const domains: Readonly<Record<string, string>> = {
    Group: "groups",
    Identity: "identity",
    Role: "roles",
    RoleBinding: "role_bindings",
    GroupInvite: "group_invites",
    AccountAssociation: "account_associations",
    IdentityProvider: "identity_providers",
    ExternalGroupRoleMapping: "identity_providers",
    Repo: "repo",
    Tag: "tag",
    Subscription: "subscriptions",
    AdvisoryMirror: "advisories",
  };
  const domain = domains[kind];
  const capability = capabilityByName.get(`${domain}.${{ Get: "list", Update: "update", Delete: "delete" }[verb]}`);
  assert.ok(capability);
  return capability;
}

function nameOf(wanted: Capability): string {
  return [...capabilityByName].find(([, capability]) => capability === wanted)?.[0] ?? "";
}

/** Whoever changes a binding must hold what it hands out; an identity provider is a promise of bindings, a mirror one of advisories. */
async function alsoNeeded(world: World, { kind }: Sample, verb: (typeof VERBS)[number]): Promise<Capability[]> {
  if (verb !== "Update") return [];
  if (kind === "IdentityProvider") return [Capability.CAP_IAM_ROLE_BINDINGS_CREATE];
  if (kind === "AdvisoryMirror") return [Capability.CAP_ADVISORIES_CREATE];
  return kind === "RoleBinding" ? viewerCapabilities(world) : [];
}

async function viewerCapabilities(world: World): Promise<Capability[]> {
  const uid = await builtInRole(world, "viewer");
  return (await world.must(RolesService.method.getRole, { uid })).capabilities;
}

function violationsOf({ code, details }: { code: number; details: readonly JsonObject[] }): [number, string[]] {
  return [code, details.flatMap(({ fieldViolations = [] }) => (fieldViolations as { field: string }[]).map(({ field }) => field))];
}
