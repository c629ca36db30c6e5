/** ExplainAccess of pull tokens: its answer agrees with what the registry does, and names the limit. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { AccessService, ExplainAccessResponse_PullTokenLimit as Limit } from "@holt/api/gen/holt/v1/access_pb.ts";
import { type PullToken, type PullTokenSchema, PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { codeOf } from "../harness/clients.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { type Caller, describeWithWorld } from "../harness/world.ts";

const { CAP_MANIFEST_LIST: PULL, CAP_MANIFEST_CREATE: PUSH } = Capability;
const CREATE = [Capability.CAP_IAM_IDENTITY_CREATE, Capability.CAP_IAM_ROLE_BINDINGS_CREATE];
const EXPLAIN = [Capability.CAP_IAM_ROLE_BINDINGS_LIST, Capability.CAP_IAM_ROLES_LIST, Capability.CAP_IAM_IDENTITY_LIST];

describeWithWorld("explaining pull tokens", (world) => {
  const create = (
    parent: string,
    fields: MessageInitShape<typeof PullTokenSchema> = {},
    caller: Caller = world.owner,
  ): Promise<PullToken> =>
    world.must(
      PullTokensService.method.createPullToken,
      { parent, pullToken: { name: "cluster", rights: [Right.IMAGES_PULL], ...fields } },
      caller.token,
    );
  const explain = (token: PullToken, uid: string, capability: Capability = PULL) =>
    world.must(AccessService.method.explainAccess, { uid, identityUid: token.uid, capability });
  let teams = 0;
  const team = async () => {
    const name = `explained-${teams++}`;
    const group = await world.group(world.orgUid, name);
    using client = createRegistryClient(world.baseUrl, `Bearer ${world.token}`);
    for (const repo of ["web", "api"]) await client.image(`my-org/${name}/${repo}`, "1");
    const { repos } = await world.must(ReposService.method.listRepos, { uidp: { childrenOf: group } });
    const uidOf = (wanted: string) => repos.find((repo) => repo.name === wanted)?.uid ?? "";
    return { name, group, web: uidOf("web"), api: uidOf("api") };
  };
  const pulls = async ({ userName, password }: PullToken, name: string): Promise<boolean> => {
    using client = createRegistryClient(world.baseUrl, basic(userName, password));
    return (await client.send("GET", `my-org/${name}/manifests/1`)).status === 200;
  };

  it("a pull token is allowed what its rights and its creator allow", async () => {
    const { group, web, name } = await team();
    const creator = await world.robot(group, [...CREATE, PULL, Capability.CAP_REPO_BLOBS_GET]);
    const token = await create(group, {}, creator);
    const { allowed, summary, pullTokenLimit, grants } = await explain(token, web);
    assert.equal(allowed, await pulls(token, `${name}/web`));
    assert.equal(pullTokenLimit, Limit.UNSPECIFIED);
    assert.equal(
      summary,
      `the pull token "cluster" has manifest.list at ${web}: its rights include it, and its creator "robot" holds it there.`,
    );
    assert.deepEqual(
      grants.map(({ groupUid, inherited }) => [groupUid, inherited]),
      [[group, true]],
    );
    const independent = await create(group, { independent: true });
    assert.match((await explain(independent, web)).summary, /independent of its creator\.$/);
    assert.deepEqual((await explain(independent, web)).grants, []);
  });

  it("the first limit is named: expiry, group, rights, repositories or creator", async () => {
    const { group, web, api, name } = await team();
    const creator = await world.robot(group, CREATE);
    const role = await world.role(group, [PULL, Capability.CAP_REPO_BLOBS_GET]);
    const binding = await world.bind(creator.uid, role, group);
    const token = await create(group, { repositories: ["web"] }, creator);
    const limitOf = async (uid: string, capability?: Capability) => {
      const { allowed, pullTokenLimit } = await explain(token, uid, capability);
      assert.equal(allowed, pullTokenLimit === Limit.UNSPECIFIED);
      return pullTokenLimit;
    };
    assert.equal(await limitOf(web), Limit.UNSPECIFIED);
    assert.equal(await limitOf(world.orgUid), Limit.GROUP);
    assert.equal(await limitOf(web, PUSH), Limit.RIGHTS);
    assert.equal(await limitOf(api), Limit.REPOSITORIES);
    assert.equal(await limitOf(group), Limit.REPOSITORIES);
    assert.equal(await pulls(token, `${name}/api`), false);
    await world.raw("DELETE", `/iam/v2/roleBindings/${binding}`);
    assert.equal(await limitOf(web), Limit.CREATOR);
    assert.equal(await pulls(token, `${name}/web`), false);
    const short = await create(group, { ttl: { seconds: 1n } });
    world.clock.advance(2000);
    const expired = await explain(short, web);
    assert.equal(expired.pullTokenLimit, Limit.EXPIRY);
    assert.match(expired.summary, /its password expired at .+; rotate it\.$/);
  });

  it("a pull token that the caller may not see does not exist for it", async () => {
    const { group, web } = await team();
    const above = await create(world.orgUid);
    const explainer = await world.robot(group, [...EXPLAIN]);
    const request = { uid: web, identityUid: above.uid, capability: PULL };
    assert.equal(codeOf(await world.rest.call(AccessService.method.explainAccess, request, explainer.token)), Code.NOT_FOUND);
    const below = await create(group);
    const answer = await world.must(AccessService.method.explainAccess, { ...request, identityUid: below.uid }, explainer.token);
    assert.ok(answer.allowed);
    assert.doesNotMatch(answer.summary, /"robot"|"Owner"/i, "the caller may not read the creator");
    assert.deepEqual(answer.grants, []);
  });
});
