import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { create, fromJson, type JsonObject, toJsonString } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { IdentityProviderSchema, IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { sql } from "kysely";
import {
  findIdentityProvider,
  findMatchingProviders,
  findOrganizationProvider,
  openClientSecret,
} from "../../src/iam/identities/identity-provider-record.ts";
import { openSecrets } from "../../src/iam/secrets/secrets-key.ts";
import { Code } from "../../src/lib/errors.ts";
import { newUid, uidFromText } from "../../src/lib/uid.ts";
import { answerOf, type HttpAnswer } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { parse, textOf } from "../harness/json.ts";
import { startIssuer } from "../harness/oidc-issuer.ts";
import { assertAbout, assertInvalid, assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld } from "../harness/world.ts";

const { CAP_IAM_IDENTITY_PROVIDERS_CREATE, CAP_IAM_IDENTITY_PROVIDERS_UPDATE, CAP_IAM_ROLE_BINDINGS_CREATE, CAP_REPO_LIST } = Capability;
const PATH = "/iam/v2/identityProviders";

describeWithWorld("identity providers", (world) => {
  const issuer = "https://idp.example.com/tenant";
  const organization = () => world.group("", "acme");
  const bodyOf = async (oidc: JsonObject, rest: JsonObject = {}): Promise<JsonObject> => ({
    name: "sso",
    defaultRole: await builtInRole(world, "viewer"),
    oidc: { issuer, clientId: "holt", ...oidc },
    ...rest,
  });
  const post = async (parent: string, oidc: JsonObject = { clientSecret: "first secret" }, rest: JsonObject = {}, token?: string) =>
    world.raw("POST", `${PATH}/${parent}`, await bodyOf(oidc, rest), token);
  const patch = (uid: string, body: JsonObject, mask?: string, token?: string) =>
    world.raw("PATCH", `${PATH}/${uid}${mask === undefined ? "" : `?updateMask=${mask}`}`, body, token);
  const uidOf = ({ status, text }: HttpAnswer): string => {
    assert.equal(status, 200, text);
    return textOf(parse(text).uid);
  };
  const made = async (oidc?: JsonObject, rest?: JsonObject) => uidOf(await post(await organization(), oidc, rest));
  /** The provider as sign-in reads it. */
  const secretOf = async (uid: string) => {
    const secrets = await openSecrets({ store: world.store, dataDir: world.dataDir, key: undefined });
    const record = await findIdentityProvider(world.store.reader, uid);
    assert.ok(record);
    return openClientSecret(record, secrets);
  };
  const versionOf = async (uid: string) => (await findIdentityProvider(world.store.reader, uid))?.version;
  const eventsOf = (uid: string) =>
    world.store.reader.selectFrom("outbox").select("data").where("subject", "=", uid).orderBy("seq").execute();

  it("an identity provider belongs to an organization, not to a group below", async () => {
    const org = await organization();
    const folder = await world.group(org);
    assertInvalid(await post(folder), "parent");
    assertAbout(await post(`${org}/0123456789abcdef`), Code.NOT_FOUND, "Group", `${org}/0123456789abcdef`);
    assert.equal((await post(org)).status, 200);
  });

  it("the error for an invalid identity provider lists everything that is wrong, the name first", async () => {
    const org = await organization();
    assertInvalid(await world.raw("POST", `${PATH}/${org}`, {}), "name");
    assertInvalid(await world.raw("POST", `${PATH}/${org}`, { name: "x" }), "oidc");
    assertInvalid(
      await world.raw("POST", `${PATH}/${org}`, { name: "x", oidc: {} }),
      "oidc.issuer",
      "oidc.client_id",
      "oidc.client_secret",
    );
    const secret = { clientSecret: "s" };
    for (const bad of [
      "http://idp.example.com",
      "https://idp.example.com?x=1",
      "idp.example.com",
      "https://u:p@idp.example.com",
      `https://h/${"a".repeat(600)}`,
    ])
      assertInvalid(await post(org, { ...secret, issuer: bad }), "oidc.issuer");
    assertInvalid(await post(org, { ...secret, issuer: world.baseUrl }), "oidc.issuer");
    assertInvalid(await post(org, { ...secret, clientId: "ü" }), "oidc.client_id");
    assertInvalid(await post(org, { ...secret, clientId: "a\u0000" }), "oidc.client_id");
    assertInvalid(await post(org, { clientSecret: "s".repeat(5000) }), "oidc.client_secret");
    assertInvalid(await post(org, { ...secret, additionalScopes: ["a b"] }), "oidc.additional_scopes");
    assertInvalid(await post(org, { ...secret, additionalScopes: Array(40).fill("a") }), "oidc.additional_scopes");
    assertInvalid(await post(org, { ...secret, groupsClaim: "g".repeat(300) }), "oidc.groups_claim");
    assertInvalid(await post(org, { ...secret, correlationRule: 7 }), "oidc.correlation_rule");
    assertInvalid(await post(org, {}), "oidc.client_secret");
    assert.equal((await post(org, { pkceEnabled: true })).status, 200);
    assert.equal((await post(org, { ...secret, issuer: "http://localhost:1" })).status, 200);
  });

  it("an identity provider keeps the order of its scopes and ignores output-only fields", async () => {
    const additionalScopes = ["profile", "email", "a:b", "profile"];
    const { oidc, scim } = parse(
      (await post(await organization(), { clientSecret: "s", additionalScopes }, { scim: { enabled: true, etag: "x" } })).text,
    );
    assert.deepEqual((oidc as JsonObject).additionalScopes, additionalScopes);
    const { endpointUrl, ...rest } = scim as JsonObject;
    assert.match(textOf(endpointUrl), new RegExp(`^${world.baseUrl}/scim/v2/[0-9a-f]{40}/[0-9a-f]{16}$`));
    assert.deepEqual(rest, { enabled: false, credentialState: "CREDENTIAL_STATE_NOT_ISSUED", etag: "" });
  });

  it("an issuer is not contacted without PKCE, and one that does not answer is accepted", async () => {
    await using upstream = await startIssuer();
    await made({ issuer: upstream.issuer, clientSecret: "s" });
    assert.equal(upstream.requests, 0);
    await made({ issuer: "http://127.0.0.1:1", pkceEnabled: true });
    upstream.setDown(true);
    await made({ issuer: upstream.issuer, pkceEnabled: true });
  });

  it("PKCE is rejected on create and update if the issuer lists methods without S256", async () => {
    await using upstream = await startIssuer();
    const { issuer } = upstream;
    const uid = await made({ issuer, clientSecret: "s" });
    upstream.setDiscovery({ code_challenge_methods_supported: ["plain"] });
    assertInvalid(await post(await organization(), { issuer, pkceEnabled: true }), "oidc.pkce_enabled");
    assertInvalid(await patch(uid, { oidc: { pkceEnabled: true } }), "oidc.pkce_enabled");
    assert.equal((await patch(uid, { description: "other" })).status, 200);
    upstream.setDiscovery({ code_challenge_methods_supported: ["plain", "S256"] });
    assert.equal((await patch(uid, { oidc: { pkceEnabled: true } })).status, 200);
    // A provider with PKCE is not checked again.
    upstream.setDiscovery({ code_challenge_methods_supported: ["plain"] });
    assert.equal((await patch(uid, { name: "renamed", oidc: { pkceEnabled: true } })).status, 200);
    await using other = await startIssuer();
    other.setDiscovery({ code_challenge_methods_supported: [] });
    assertInvalid(await patch(uid, { oidc: { issuer: other.issuer, clientSecret: "s" } }), "oidc.pkce_enabled");
  });

  it("the correlation rule of an identity provider cannot change", async () => {
    const uid = await made({ clientSecret: "s", correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" });
    const rule = async () => (parse((await world.raw("GET", `${PATH}/${uid}`)).text).oidc as JsonObject).correlationRule;
    assertInvalid(await patch(uid, { oidc: { correlationRule: "CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID" } }), "oidc.correlation_rule");
    assert.equal((await patch(uid, { oidc: { correlationRule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" } })).status, 200);
    assert.equal((await patch(uid, { oidc: { correlationRule: 0 } })).status, 200);
    assert.equal((await patch(uid, await bodyOf({ clientId: "other" }), "*")).status, 200);
    assert.equal(await rule(), "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID");
  });

  it("an empty secret in an update keeps the stored one, unless the mask names that field", async () => {
    const uid = await made();
    assert.equal(await secretOf(uid), "first secret");
    const whole = await bodyOf({ clientSecret: "", pkceEnabled: true, issuer });
    for (const mask of ["*", "oidc", "oidc.pkce_enabled", "name"]) {
      assert.equal((await patch(uid, whole, mask)).status, 200);
      assert.equal(await secretOf(uid), "first secret", mask);
    }
    assert.equal((await patch(uid, whole)).status, 200);
    assert.equal(await secretOf(uid), undefined, "inferred from the keys of the body");
    for (const mask of ["oidc.client_secret", "oidc.clientSecret"]) {
      assert.equal((await patch(uid, await bodyOf({ clientSecret: mask }), mask)).status, 200);
      assert.equal(await secretOf(uid), mask);
      assert.equal((await patch(uid, whole, mask)).status, 200);
      assert.equal(await secretOf(uid), undefined);
    }
    assert.equal((await patch(uid, await bodyOf({ clientSecret: "by star" }), "*")).status, 200);
    assert.equal(await secretOf(uid), "by star");
    assertInvalid(await patch(uid, { oidc: { clientSecret: "" } }), "oidc.client_secret");
    assert.equal(await secretOf(uid), "by star");
  });

  it("over gRPC, an empty secret is kept without a mask and cleared if the mask names it", async () => {
    const uid = await made({ clientSecret: "s", pkceEnabled: true });
    const update = async (oidc: JsonObject, ...paths: string[]) => {
      const identityProvider = fromJson(IdentityProviderSchema, { ...(await bodyOf(oidc)), uid });
      const updateMask = paths.length === 0 ? undefined : create(FieldMaskSchema, { paths });
      const request = { identityProvider, ...(updateMask && { updateMask }) };
      return answerOf(await world.grpc.call(IdentityProvidersService.method.updateIdentityProvider, request, world.owner.token));
    };
    const answer = await update({ pkceEnabled: true, clientId: "other" });
    assert.equal(answer.configuration.value?.clientSecret, "");
    assert.equal(await secretOf(uid), "s");
    await update({ pkceEnabled: true }, "oidc.client_secret");
    assert.equal(await secretOf(uid), undefined);
  });

  it("changing only the secret counts as an update, and setting the same secret does not", async () => {
    const uid = await made();
    const before = (await world.raw("GET", `${PATH}/${uid}`)).text;
    const events = (await eventsOf(uid)).length;
    world.clock.advance(1000);
    assert.equal((await patch(uid, { oidc: { clientSecret: "first secret" } })).text, before);
    assert.equal((await eventsOf(uid)).length, events);
    const { updateTime } = parse((await patch(uid, { oidc: { clientSecret: "second secret" } })).text);
    assert.equal(updateTime, world.clock.now().toISOString());
    assert.equal((await eventsOf(uid)).length, events + 1);
    assert.equal(await secretOf(uid), "second secret");
    // Also for two updates at the same time.
    assert.equal((await patch(uid, { oidc: { clientSecret: "third secret" } })).status, 200);
    assert.equal((await eventsOf(uid)).length, events + 2);
  });

  it("a stored secret is not sent to another issuer", async () => {
    const uid = await made();
    const elsewhere = "https://elsewhere.example.com";
    assertInvalid(await patch(uid, { oidc: { issuer: elsewhere } }), "oidc.client_secret");
    assertInvalid(await patch(uid, await bodyOf({ issuer: elsewhere }), "*"), "oidc.client_secret");
    assert.equal((await patch(uid, { oidc: { issuer: elsewhere, clientSecret: "new" } })).status, 200);
    assert.equal(await secretOf(uid), "new");
    assert.equal((await patch(uid, { oidc: { issuer, clientSecret: "", pkceEnabled: true } })).status, 200);
    assert.equal(await secretOf(uid), undefined);
  });

  it("a client secret is in no answer, in no event, and not in plain text in the database", async () => {
    const secrets = ["Tr0ub4dor-create", "Tr0ub4dor-update", "Tr0ub4dor-refused", "Tr0ub4dor-grpc"];
    const [first = "", second = "", refused = "", third = ""] = secrets;
    const org = await organization();
    const answers = [await post(org, { clientSecret: first })];
    const uid = uidOf(answers[0] as HttpAnswer);
    answers.push(await patch(uid, { oidc: { clientSecret: second } }));
    answers.push(
      await patch(uid, { oidc: { clientSecret: refused, clientId: "" } }),
      await post(org, { clientSecret: refused, issuer: "x" }),
    );
    answers.push(await world.raw("GET", `${PATH}/${uid}`), await world.raw("GET", `${PATH}?uidp.childrenOf=${org}`));
    const identityProvider = fromJson(IdentityProviderSchema, { ...(await bodyOf({ clientSecret: third })), uid });
    const { updateIdentityProvider: update, getIdentityProvider: get, listIdentityProviders: list } = IdentityProvidersService.method;
    const updated = answerOf(await world.grpc.call(update, { identityProvider }, world.owner.token));
    const got = answerOf(await world.grpc.call(get, { uid }, world.owner.token));
    const page = answerOf(await world.grpc.call(list, {}, world.owner.token));
    const texts = [
      ...answers.map(({ text }) => text),
      toJsonString(update.output, updated),
      toJsonString(get.output, got),
      toJsonString(list.output, page),
      JSON.stringify(await world.store.reader.selectFrom("outbox").selectAll().orderBy("seq").execute()),
      JSON.stringify(await world.store.reader.selectFrom("identity_provider").selectAll().execute()),
    ];
    assert.equal(await secretOf(uid), third);
    for (const name of await readdir(world.dataDir))
      if (/^holt\.db/.test(name)) texts.push(await readFile(join(world.dataDir, name), "latin1"));
    for (const text of texts) assert.ok(!secrets.some((secret) => text.includes(secret)), text.slice(0, 200));
    assert.ok(!texts.some((text) => text.includes("Tr0ub4dor")));
  });

  it("a default role must be built in or of the organization, and its setter must hold its capabilities", async () => {
    const org = await organization();
    const other = await organization();
    const own = await world.role(org, [CAP_REPO_LIST]);
    assertInvalid(await post(org, undefined, { defaultRole: "" }), "default_role");
    assertInvalid(await post(org, undefined, { defaultRole: "viewer" }), "default_role");
    assertInvalid(await post(org, undefined, { defaultRole: await world.role(other, [CAP_REPO_LIST]) }), "default_role");
    assertInvalid(await post(org, undefined, { defaultRole: await world.role(await world.group(org), [CAP_REPO_LIST]) }), "default_role");
    assertAbout(await post(org, undefined, { defaultRole: newUid(org) }), Code.NOT_FOUND, "Role");
    const maker = await world.robot(org, [
      CAP_IAM_IDENTITY_PROVIDERS_CREATE,
      CAP_IAM_IDENTITY_PROVIDERS_UPDATE,
      CAP_IAM_ROLE_BINDINGS_CREATE,
      CAP_REPO_LIST,
    ]);
    assertRefused(await post(org, undefined, { defaultRole: await builtInRole(world, "viewer") }, maker.token), Code.PERMISSION_DENIED);
    const uid = uidOf(await post(org, undefined, { defaultRole: own }, maker.token));
    assertRefused(await patch(uid, { defaultRole: await builtInRole(world, "owner") }, undefined, maker.token), Code.PERMISSION_DENIED);
    assert.equal((await patch(uid, { description: "mine" }, undefined, maker.token)).status, 200);
    // A default role can be deleted, and a missing one does not block other updates.
    assert.equal((await world.raw("DELETE", `/iam/v2/roles/${own}`)).status, 200);
    assert.equal((await patch(uid, { description: "still mine", oidc: { clientId: "x" } }, undefined, maker.token)).status, 200);
  });

  it("only a caller that holds the rights that users get can change who can sign in", async () => {
    const org = await organization();
    const uid = uidOf(await post(org));
    const updater = await world.robot(org, [CAP_IAM_IDENTITY_PROVIDERS_UPDATE, CAP_IAM_ROLE_BINDINGS_CREATE]);
    for (const oidc of [{ issuer: "https://mine.example.com", clientSecret: "s" }, { clientId: "mine" }, { groupsClaim: "mine" }])
      assertRefused(await patch(uid, { oidc }, undefined, updater.token), Code.PERMISSION_DENIED);
    assert.equal((await patch(uid, { name: "renamed", oidc: { additionalScopes: ["groups"] } }, undefined, updater.token)).status, 200);
    const poor = uidOf(await post(org, undefined, { defaultRole: await world.role(org, [CAP_IAM_ROLE_BINDINGS_CREATE]) }));
    assert.equal((await patch(poor, { oidc: { groupsClaim: "mine" } }, undefined, updater.token)).status, 200);
    const roleUid = await builtInRole(world, "viewer");
    await world.raw("POST", `/iam/v2/externalGroupRoleMappings/${poor}`, { externalGroupId: "g", roleUid, scope: org });
    assertRefused(await patch(poor, { oidc: { groupsClaim: "other" } }, undefined, updater.token), Code.PERMISSION_DENIED);
  });

  it("users get what is added to the default role", async () => {
    const org = await organization();
    const role = await world.role(org, [CAP_REPO_LIST]);
    await post(org, undefined, { defaultRole: role });
    const editor = await world.robot(org, [Capability.CAP_IAM_ROLES_UPDATE, CAP_REPO_LIST]);
    const added = { capabilities: ["CAP_REPO_LIST", "CAP_IAM_GROUPS_DELETE"] };
    assertRefused(await world.raw("PATCH", `/iam/v2/roles/${role}`, added, editor.token), Code.PERMISSION_DENIED);
  });

  it("the version of an identity provider counts the changes of its sign-in settings only", async () => {
    const uid = await made({ clientSecret: "s", groupsClaim: "groups" });
    const first = (await versionOf(uid)) ?? 0;
    await patch(uid, { name: "renamed", oidc: { clientSecret: "t", additionalScopes: ["x"], clientId: "holt", pkceEnabled: true } });
    assert.equal(await versionOf(uid), first);
    await patch(uid, { oidc: { groupsClaim: "" } });
    await patch(uid, { oidc: { clientId: "other" } });
    await patch(uid, { oidc: { issuer: "https://new.example.com", clientSecret: "u" } });
    assert.equal(await versionOf(uid), first + 3);
  });

  it("an identity provider is found by issuer and client, and by the name of a verified organization", async () => {
    const { reader } = world.store;
    const name = `acme-${newUid("").slice(0, 8)}.example.com`;
    const org = uidOf(await world.raw("POST", "/iam/v2/groups", { name, verified: true, kind: "ORG_KIND_CUSTOMER" }));
    assert.equal(await findOrganizationProvider(reader, name), undefined);
    const shared = `https://${name}`;
    const oldest = uidOf(await post(org, { issuer: shared, clientId: "a", clientSecret: "s" }));
    world.clock.advance(1000);
    const second = uidOf(await post(org, { issuer: shared, clientId: "b", clientSecret: "s" }));
    assert.equal((await findOrganizationProvider(reader, name))?.uid, oldest);
    const found = async (issuer: string, clientId: string, uid?: string) =>
      (await findMatchingProviders(reader, { issuer, clientId, uid })).map((provider) => provider.uid);
    assert.deepEqual(await found(shared, "b"), [second]);
    assert.deepEqual(await found(shared, "c"), []);
    assert.deepEqual(await found(`${shared}/`, "b"), []);
    assert.deepEqual(await found(shared, "b\0"), []);
    const namesakes = [second];
    for (let i = 0; i < 2; i++) namesakes.push(uidOf(await post(org, { issuer: shared, clientId: "b", clientSecret: "s" })));
    assert.equal((await found(shared, "b")).length, 2);
    for (const uid of namesakes) assert.deepEqual(await found(shared, "b", uid), [uid]);
    for (const uid of [oldest, "nonsense"]) assert.deepEqual(await found(shared, "b", uid), []);
    const unverified = uidOf(await world.raw("POST", "/iam/v2/groups", { name: `un${name}` }));
    await post(unverified);
    assert.equal(await findOrganizationProvider(reader, `un${name}`), undefined);
    assert.equal(await findIdentityProvider(reader, "nonsense"), undefined);
  });

  it("an identity provider blocks the deletion of its organization and is deleted with its mappings and tokens", async () => {
    const org = await organization();
    const uid = uidOf(await post(org));
    const roleUid = await builtInRole(world, "viewer");
    for (const externalGroupId of ["a", "b"])
      await world.raw("POST", `/iam/v2/externalGroupRoleMappings/${uid}`, { externalGroupId, roleUid, scope: org });
    await world.raw("POST", `${PATH}/${uid}:generateScimToken`, {});
    const binding = await world.bind(uidFromText("a user of it"), roleUid, org);
    assertPrecondition(
      await world.raw("DELETE", `/iam/v2/groups/${org}`),
      "RESOURCE_NOT_EMPTY",
      "cannot delete group with child resources",
    );
    assert.equal((await world.raw("DELETE", `${PATH}/${uid}`)).status, 200);
    const left = parse((await world.raw("GET", `/iam/v2/externalGroupRoleMappings?uidp.descendantsOf=${org}`)).text);
    assert.deepEqual([left.externalGroupRoleMappings, left.totalCount], [[], "0"]);
    for (const table of ["external_group_role_mapping", "scim_token"] as const) {
      const column = table === "scim_token" ? "idp_uid" : "parent";
      const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = ${uid}`.execute(world.store.reader);
      assert.deepEqual(rows, []);
    }
    assert.equal((await world.raw("GET", `/iam/v2/roleBindings/${binding}`)).status, 200);
    assertAbout(await world.raw("DELETE", `${PATH}/${uid}`), Code.NOT_FOUND, "IdentityProvider", uid);
    assert.equal((await world.raw("DELETE", `/iam/v2/groups/${org}`)).status, 200);
  });
});
