/** Limits that the operator sets for an organization. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { ResourceLimitsService } from "@holt/api/gen/holt/v1/resource_limits_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const ROUNDS = 15;
const { getResourceLimits, updateResourceLimits } = ResourceLimitsService.method;

async function organization(world: World, name: string): Promise<{ uid: string; token: string }> {
  const { token } = await world.user(name);
  return { uid: (await world.must(GroupsService.method.createGroup, { group: { name } }, token)).uid, token };
}

describeWithWorld("limits of organizations", (world) => {
  test("only the operator sets limits, and everybody who may see the organization sees them with the usage", async () => {
    const { uid, token } = await organization(world, "limits-1");
    const limits = { uid, repositories: 3, storageMb: 7 };
    assert.equal(codeOf(await world.rest.call(updateResourceLimits, { resourceLimits: limits }, token)), Code.PERMISSION_DENIED);
    const set = await world.must(updateResourceLimits, { resourceLimits: limits });
    assert.deepEqual([set.repositories, set.storageMb, set.identities, set.usage?.repositories], [3, 7, 0, 0n]);
    const seen = await world.must(getResourceLimits, { uid }, token);
    assert.deepEqual([seen.repositories, seen.storageMb], [3, 7]);
    const { resourceLimits } = JSON.parse((await world.raw("GET", `/iam/v2/groups/${uid}`, undefined, token)).text) as {
      resourceLimits: object;
    };
    assert.deepEqual(resourceLimits, { repositories: 3, storage_mb: 7 });
    const removed = { resourceLimits: { uid }, updateMask: { paths: ["repositories"] } };
    assert.deepEqual([(await world.must(updateResourceLimits, removed)).repositories, set.storageMb], [0, 7]);
    assert.equal(
      codeOf(await world.rest.call(updateResourceLimits, { resourceLimits: { uid, idps: -1 } }, world.owner.token)),
      Code.INVALID_ARGUMENT,
    );
    const folder = await world.must(GroupsService.method.createGroup, { parent: uid, group: { name: "folder" } }, token);
    assert.equal(codeOf(await world.rest.call(getResourceLimits, { uid: folder.uid }, token)), Code.INVALID_ARGUMENT);
    await world.must(GroupsService.method.deleteGroup, { uid: folder.uid }, token);
    await world.must(GroupsService.method.deleteGroup, { uid }, token);
  });

  test("repositories, identities and subscriptions beyond a limit are refused with usage, limit and Retry-After, also at once", async () => {
    const { uid, token } = await organization(world, "limits-2");
    const { uid: folder } = await world.must(GroupsService.method.createGroup, { parent: uid, group: { name: "folder" } }, token);
    await world.must(updateResourceLimits, { resourceLimits: { uid, repositories: 2, identities: 1, subscriptions: 1 } });
    const create = (i: number) =>
      world.rest.call(ReposService.method.createRepo, { parent: i % 2 ? uid : folder, repo: { name: `r${i}` } }, token);
    const codes = (await Promise.all([0, 1, 2, 3, 4, 5].map(create))).map(codeOf);
    assert.deepEqual(codes.sort(), [0, 0, ...Array<number>(4).fill(Code.RESOURCE_EXHAUSTED)]);
    const refused = await world.raw("POST", `/registry/v2/repos/${uid}`, { name: "another" }, token);
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "60");
    assert.match(refused.text, /"resource":"repositories","limit":"2","usage":"2"|limit of repositories is 2, and it uses 2/);
    using client = createRegistryClient(world.baseUrl, basic("_token", token));
    await assert.rejects(client.image(`${uid}/pushed`, "v1"), /429|TOOMANYREQUESTS/);

    const identity = {
      name: "robot",
      relationship: {
        case: "claimMatch",
        value: { iss: { case: "issuer", value: "https://issuer.test" }, sub: { case: "subject", value: "s" } },
      },
    } as const;
    const createIdentity = () =>
      world.rest.call(IdentitiesService.method.createIdentity, { parent: folder, identity: identity as never }, token);
    assert.deepEqual([codeOf(await createIdentity()), codeOf(await createIdentity())], [0, Code.RESOURCE_EXHAUSTED]);
    const subscription = { sink: "https://sink.example.com/" };
    const subscribe = () => world.rest.call(SubscriptionsService.method.createSubscription, { parent: uid, subscription }, token);
    assert.deepEqual([codeOf(await subscribe()), codeOf(await subscribe())], [0, Code.RESOURCE_EXHAUSTED]);
    const { usage } = await world.must(getResourceLimits, { uid }, token);
    assert.deepEqual([usage?.repositories, usage?.identities, usage?.subscriptions], [2n, 1n, 1n]);
  });

  test("a limit holds while the operator changes another limit", async () => {
    const { uid, token } = await organization(world, "limits-changed");
    await world.must(updateResourceLimits, { resourceLimits: { uid, repositories: 1 } });
    await world.must(ReposService.method.createRepo, { parent: uid, repo: { name: "only" } }, token);
    for (let round = 1; round <= ROUNDS; round++) {
      const change = { resourceLimits: { uid, idps: round }, updateMask: { paths: ["idps"] } };
      const creations = [1, 2, 3, 4].map((i) =>
        world.rest.call(ReposService.method.createRepo, { parent: uid, repo: { name: `r${round}-${i}` } }, token),
      );
      const [, ...answers] = await Promise.all([world.must(updateResourceLimits, change), ...creations]);
      assert.deepEqual(answers.map(codeOf), Array<number>(4).fill(Code.RESOURCE_EXHAUSTED));
    }
  });

  test("a blob beyond the limit of storage is refused, and shared content counts once", async () => {
    const { uid, token } = await organization(world, "limits-3");
    await world.must(updateResourceLimits, { resourceLimits: { uid, storageMb: 1 } });
    for (const name of ["a", "b"]) await world.must(ReposService.method.createRepo, { parent: uid, repo: { name } }, token);
    using client = createRegistryClient(world.baseUrl, basic("_token", token));
    const large = randomBytes(900_000);
    await client.blob(`${uid}/a`, large);
    await client.blob(`${uid}/b`, large);
    assert.equal((await world.must(getResourceLimits, { uid }, token)).usage?.storageBytes, 900_000n);
    await assert.rejects(client.blob(`${uid}/b`, randomBytes(200_000)), /429.*limit of storage_mb is 1, and it uses 2/);
    await client.blob(`${uid}/b`, randomBytes(50_000));
  });

  test("calls beyond the rate of an organization are refused, and those of others are not", async () => {
    const { uid, token } = await organization(world, "limits-4");
    const other = await organization(world, "limits-5");
    await world.must(updateResourceLimits, { resourceLimits: { uid, callsPerSecond: 1 } });
    const answers = await Promise.all(Array.from({ length: 200 }, () => world.raw("GET", `/iam/v2/groups/${uid}`, undefined, token)));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length > 0 && refused.length < 200, `${refused.length}`);
    assert.ok(refused.every(({ headers }) => Number(headers["retry-after"]) >= 1));
    assert.equal((await world.raw("GET", `/iam/v2/groups/${other.uid}`, undefined, other.token)).status, 200);
  });

  test("lists count for the rate of an organization, with and without a filter, and lists of strangers do not", async () => {
    const { uid, token } = await organization(world, "limits-6");
    const stranger = await organization(world, "limits-7");
    await world.must(updateResourceLimits, { resourceLimits: { uid, callsPerSecondPerIdentity: 1 } });
    const refusals = async (path: string, as: string) => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => world.raw("GET", path, undefined, as)));
      for (const { status, headers } of answers) assert.ok(status === 200 || Number(headers["retry-after"]) >= 1, `${status}`);
      return answers.filter(({ status }) => status === 429).length;
    };
    const below = `/iam/v2/identities?uidp.descendants_of=${uid}`;
    for (const path of [below, "/iam/v2/identities", `/iam/v2/groups?uidp.children_of=${uid}`, `/holt/v1/audit/entries?parent=${uid}`])
      assert.ok((await refusals(path, token)) > 0, path);
    for (const path of [below, "/iam/v2/identities"]) assert.equal(await refusals(path, stranger.token), 0, path);
  });
});
