import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid } from "../../src/lib/uid.ts";
import { entriesAfter, lastSeq as lastEntry } from "../auditing/audit-log.ts";
import type { HttpAnswer } from "../harness/clients.ts";
import { builtInRole, providerIn } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { assertAbout, assertInvalid, assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_IAM_GROUPS_LIST, CAP_IAM_IDENTITY_PROVIDERS_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_REPO_LIST } = Capability;
const PATH = "/iam/v2/externalGroupRoleMappings";

describeWithWorld("external group role mappings", (world) => {
  const post = (provider: string, body: JsonObject, token?: string) => world.raw("POST", `${PATH}/${provider}`, body, token);
  const batchDelete = (parent: string, names: string[]) => world.raw("POST", `${PATH}:batchDelete`, { parent, names });
  const uidOf = ({ status, text }: HttpAnswer): string => {
    assert.equal(status, 200, text);
    return textOf(parse(text).uid);
  };
  const start = async () => {
    const org = await world.group("", "acme");
    const provider = await providerIn(world, org);
    const roleUid = await builtInRole(world, "viewer");
    const make = async (externalGroupId: string) => uidOf(await post(provider, { externalGroupId, roleUid, scope: org }));
    return { org, provider, roleUid, make };
  };
  const eventsSince = async (seq: number) =>
    (await world.store.reader.selectFrom("outbox").select(["type", "data"]).where("seq", ">", seq).orderBy("seq").execute()).map(
      ({ type }) => type,
    );
  const lastSeq = async () =>
    Number((await world.store.reader.selectFrom("outbox").select("seq").orderBy("seq", "desc").limit(1).executeTakeFirst())?.seq ?? 0);

  it("a mapping needs a group, a role that the organization can give, and the organization as its scope", async () => {
    const { org, provider, roleUid } = await start();
    assertInvalid(await post(provider, {}), "external_group_id", "role_uid", "scope");
    const good = { externalGroupId: "g", roleUid, scope: org };
    for (const scope of ["", world.orgUid, await world.group(org), provider, "/"])
      assertInvalid(await post(provider, { ...good, scope }), "scope");
    assertInvalid(await post(provider, { ...good, roleUid: "viewer" }), "role_uid");
    assertInvalid(await post(provider, { ...good, roleUid: await world.role(world.orgUid, [CAP_REPO_LIST]) }), "role_uid");
    assertAbout(await post(provider, { ...good, roleUid: newUid(org) }), Code.NOT_FOUND, "Role");
    for (const externalGroupId of ["g".repeat(513), "a\u0000b", "line\nbreak"])
      assertInvalid(await post(provider, { ...good, externalGroupId }), "external_group_id");
    assertAbout(await post(`${org}/0123456789abcdef`, good), Code.NOT_FOUND, "IdentityProvider", `${org}/0123456789abcdef`);
    assert.equal((await post(provider, { ...good, externalGroupId: 'CN=Ä b, "c"/ê 雪'.padEnd(512, "雪") })).status, 200);
  });

  it("the same mapping cannot exist twice", async () => {
    const { org, provider, roleUid, make } = await start();
    const uid = await make("g");
    assertAbout(await post(provider, { externalGroupId: "g", roleUid, scope: org }), Code.ALREADY_EXISTS, "ExternalGroupRoleMapping", uid);
    await make("G");
    const other = await world.role(org, [CAP_REPO_LIST]);
    assert.equal((await post(provider, { externalGroupId: "g", roleUid: other, scope: org })).status, 200);
    const answers = await Promise.all([1, 2, 3].map(() => post(provider, { externalGroupId: "race", roleUid, scope: org })));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409]);
  });

  it("the audit entries of deleted mappings have their fields, alone, in a batch and with their provider", async () => {
    const { provider, roleUid, make } = await start();
    const [one, two, three] = [await make("one"), await make("two"), await make("three")];
    const before = await lastEntry(world);
    assert.equal((await world.raw("DELETE", `${PATH}/${one}`)).status, 200);
    assert.equal((await batchDelete(provider, [two])).status, 200);
    assert.equal((await world.raw("DELETE", `/iam/v2/identityProviders/${provider}`)).status, 200);
    const changes = (await entriesAfter(world, before)).flatMap(({ details }) => details.changes ?? []);
    const deleted = changes.filter(({ resource }) => resource === "ExternalGroupRoleMapping");
    assert.deepEqual(
      deleted.map((change) => [change.uid, change.before?.externalGroupId, change.before?.roleUid]),
      [
        [one, "one", roleUid],
        [two, "two", roleUid],
        [three, "three", roleUid],
      ],
    );
  });

  it("only a caller that holds all capabilities of the role can create a mapping", async () => {
    const { org, provider, roleUid } = await start();
    const maker = await world.robot(org, [CAP_IAM_IDENTITY_PROVIDERS_CREATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_REPO_LIST]);
    assertRefused(await post(provider, { externalGroupId: "g", roleUid, scope: org }, maker.token), Code.PERMISSION_DENIED);
    const own = await world.role(org, [CAP_REPO_LIST]);
    assert.equal((await post(provider, { externalGroupId: "g", roleUid: own, scope: org }, maker.token)).status, 200);
  });

  it("a mapping blocks the deletion of its role and gives what is added to the role", async () => {
    const { org, provider } = await start();
    const roleUid = await world.role(org, [CAP_REPO_LIST]);
    const uid = uidOf(await post(provider, { externalGroupId: "g", roleUid, scope: org }));
    const said = "cannot delete role while it is mapped to an external group";
    assertPrecondition(await world.raw("DELETE", `/iam/v2/roles/${roleUid}`), "RESOURCE_IN_USE", said);
    const editor = await world.robot(org, [Capability.CAP_IAM_ROLES_UPDATE, CAP_REPO_LIST]);
    const added = { capabilities: ["CAP_REPO_LIST", "CAP_IAM_GROUPS_DELETE"] };
    assertRefused(await world.raw("PATCH", `/iam/v2/roles/${roleUid}`, added, editor.token), Code.PERMISSION_DENIED);
    assert.equal((await world.raw("DELETE", `${PATH}/${uid}`)).status, 200);
    assert.equal((await world.raw("DELETE", `/iam/v2/roles/${roleUid}`)).status, 200);
  });

  it("mappings are listed by their identity provider", async () => {
    const first = await start();
    const second = await providerIn(world, first.org, "second");
    const [a, b] = [await first.make("a"), await first.make("b")];
    await post(second, { externalGroupId: "a", roleUid: first.roleUid, scope: first.org });
    const listed = async (query: string) => {
      const page = parse((await world.raw("GET", `${PATH}?${query}`)).text);
      return [(page.externalGroupRoleMappings as JsonObject[]).map(({ uid }) => textOf(uid)).toSorted(), page.totalCount];
    };
    assert.deepEqual(await listed(`identityProviderUid=${first.provider}`), [[a, b].toSorted(), "2"]);
    assert.deepEqual(await listed(`uidp.childrenOf=${first.provider}`), [[a, b].toSorted(), "2"]);
    assert.equal((await listed(`uidp.descendantsOf=${first.org}`))[1], "3");
    assert.deepEqual(await listed("identityProviderUid=nonsense"), [[], "0"]);
  });

  it("a batch deletes all existing mappings of one provider, each once, in one event", async () => {
    const { org, provider, make } = await start();
    const [a, b, c] = [await make("a"), await make("b"), await make("c")];
    const before = await lastSeq();
    const answer = parse((await batchDelete(provider, [b, `${provider}/0123456789abcdef`, a, b])).text);
    assert.equal(answer.parent, provider);
    assert.deepEqual(
      (answer.externalGroupRoleMappings as JsonObject[]).map(({ uid, externalGroupId }) => [uid, externalGroupId]),
      [
        [b, "b"],
        [a, "a"],
      ],
    );
    assert.deepEqual(await eventsSince(before), ["dev.holt.api.iam.external_group_role_mappings.deleted.batch.v1"]);
    const { totalCount } = parse((await world.raw("GET", `${PATH}?uidp.descendantsOf=${org}`)).text);
    assert.equal(totalCount, "1");
    assert.equal((await world.raw("GET", `${PATH}/${c}`)).status, 200);
    // Deleting again changes nothing and emits no event.
    const again = await batchDelete(provider, [a, b]);
    assert.deepEqual(parse(again.text), { parent: provider, externalGroupRoleMappings: [] });
    assert.equal((await eventsSince(before)).length, 1);
  });

  it("a batch with a mapping of another provider deletes nothing", async () => {
    const { org, provider, make } = await start();
    const a = await make("a");
    const other = await start();
    const foreign = await other.make("a");
    assertInvalid(await batchDelete(provider, [a, foreign]), "names[1]");
    assertInvalid(
      await batchDelete(provider, ["nonsense", a, provider, org, `${a}/0123456789abcdef`]),
      "names[0]",
      "names[2]",
      "names[3]",
      "names[4]",
    );
    assertInvalid(await batchDelete(provider, []), "names");
    assertInvalid(await batchDelete(provider, Array(1001).fill(a)), "names");
    assert.equal((await world.raw("GET", `${PATH}/${a}`)).status, 200);
    assert.equal((await world.raw("GET", `${PATH}/${foreign}`)).status, 200);
  });

  it("a mapping gives its role until the mapping, its provider or the provider's sign-in settings change", async () => {
    await using upstream = await startIssuer({ now: world.clock.now });
    const org = await world.group("", "acme");
    const roleUid = await world.role(org, [CAP_IAM_GROUPS_LIST]);
    const defaultRole = await world.role(org, [CAP_REPO_LIST]);
    const oidc = { issuer: upstream.issuer, clientId: "holt", pkceEnabled: true, groupsClaim: "groups" };
    const provider = uidOf(await world.raw("POST", `/iam/v2/identityProviders/${org}`, { name: "sso", defaultRole, oidc }));
    const map = () => post(provider, { externalGroupId: "readers", roleUid, scope: org });
    const proof = () => upstream.sign({ sub: "alice", aud: "holt", groups: ["others", "readers"] });
    const signIn = async () =>
      (await world.must(SecurityTokenService.method.exchange, { identityProvider: provider }, await proof())).token;
    const mayRead = async (token: string) => (await world.raw("GET", `/iam/v2/groups/${org}`, undefined, token)).status === 200;
    await world.must(Auth.method.register, {}, await proof());

    const withoutMapping = await signIn();
    const uid = uidOf(await map());
    assert.equal(await mayRead(withoutMapping), false);
    const session = await signIn();
    assert.equal(await mayRead(session), true);
    await world.raw("DELETE", `${PATH}/${uid}`);
    assert.equal(await mayRead(session), false);

    const byBatch = uidOf(await map());
    const second = await signIn();
    assert.equal(await mayRead(second), true);
    await batchDelete(provider, [byBatch]);
    assert.equal(await mayRead(second), false);

    await map();
    const third = await signIn();
    assert.equal(await mayRead(third), true);
    await world.raw("PATCH", `/iam/v2/roles/${roleUid}`, { capabilities: ["CAP_REPO_LIST"] });
    assert.equal(await mayRead(third), false);
    await world.raw("PATCH", `/iam/v2/roles/${roleUid}`, { capabilities: ["CAP_IAM_GROUPS_LIST"] });
    assert.equal(await mayRead(third), true);
    await world.raw("PATCH", `/iam/v2/identityProviders/${provider}`, { name: "renamed" });
    assert.equal(await mayRead(third), true);
    await world.raw("PATCH", `/iam/v2/identityProviders/${provider}`, { oidc: { groupsClaim: "" } });
    assert.equal(await mayRead(third), false);
    await world.raw("PATCH", `/iam/v2/identityProviders/${provider}`, { oidc: { groupsClaim: "groups" } });
    assert.equal(await mayRead(third), false);

    const fourth = await signIn();
    assert.equal(await mayRead(fourth), true);
    assert.equal((await world.raw("DELETE", `/iam/v2/identityProviders/${provider}`)).status, 200);
    assert.equal(await mayRead(fourth), false);
  });
});
