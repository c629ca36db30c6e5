/** Pull tokens of people whose rights come from the groups of an identity provider or of a directory. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { PullTokensService, PullToken_Right as Right } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { decodeJwt } from "jose";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { type Directory, patch, startDirectory } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

const { createPullToken, getPullToken, rotatePullToken, deletePullToken } = PullTokensService.method;
const pullToken = { name: "test", rights: [Right.PYTHON_PULL] };
let made = 0;

describeWithWorld("pull tokens of people with mapped groups", (world) => {
  /** A role for creators of pull tokens, mapped to the group with the external id `group-1`. */
  async function mapGroup({ organization, idpUid }: Directory): Promise<void> {
    const roleUid = await world.role(organization, [
      Capability.CAP_IAM_IDENTITY_CREATE,
      Capability.CAP_IAM_ROLE_BINDINGS_CREATE,
      Capability.CAP_LIBRARIES_PYTHON_LIST,
    ]);
    const mapping = { externalGroupId: "group-1", roleUid, scope: organization };
    const { status, text } = await world.raw("POST", `/iam/v2/externalGroupRoleMappings/${idpUid}`, mapping);
    assert.equal(status, 200, text);
  }

  async function signIn({ clientId, idpUid }: Directory, sub: string, claims: object = {}): Promise<string> {
    const proof = await world.proofOf(sub, { aud: clientId, ...claims });
    await world.rest.call(Auth.method.register, {}, proof);
    const request = { identityProvider: idpUid };
    return answerOf(await world.rest.call(SecurityTokenService.method.exchange, request, proof)).token;
  }

  const start = (groupsClaim?: string) => startDirectory(world, { issuer: world.issuer, ...(groupsClaim && { groupsClaim }) });

  it("a person whose rights end with the session cannot create a pull token that would lose them", async () => {
    const directory = await start("groups");
    await mapGroup(directory);
    const token = await signIn(directory, `person-${++made}`, { groups: ["group-1"] });
    const refused = await world.rest.call(createPullToken, { parent: directory.organization, pullToken }, token);
    assert.equal(codeOf(refused), Code.FAILED_PRECONDITION);
  });

  it("a pull token has the rights of its creator's directory groups as long as the directory lists the creator", async () => {
    const directory = await start();
    await mapGroup(directory);
    const subject = `person-${++made}`;
    const { id } = await directory.user({ userName: `${subject}@example.com`, externalId: subject });
    const group = await directory.group("creators", [id], { externalId: "group-1" });
    const token = await signIn(directory, subject);
    const { userName, password } = await world.must(createPullToken, { parent: directory.organization, pullToken }, token);
    const status = async (): Promise<number> => {
      using client = createRegistryClient(world.baseUrl, basic(userName, password));
      return (await client.send("GET", `/libraries/python/${directory.organization}/simple/`)).status;
    };
    assert.equal(await status(), 200);
    const members = (op: string) => patch({ op, path: "members", value: [{ value: id }] });
    await directory.must(204, "PATCH", `/Groups/${group.id}`, members("remove"));
    assert.equal(await status(), 404);
    await directory.must(204, "PATCH", `/Groups/${group.id}`, members("add"));
    assert.equal(await status(), 200);
    await directory.must(200, "PATCH", `/Users/${id}`, patch({ op: "replace", value: { active: false } }));
    assert.equal(await status(), 401);
    await directory.must(200, "PATCH", `/Users/${id}`, patch({ op: "replace", value: { active: true } }));
    assert.equal(await status(), 200);
  });

  it("a session that is valid in one organization does not use its person's pull tokens in another", async () => {
    const subject = `person-${++made}`;
    const person = await world.user(subject);
    await world.bind(person.uid, await builtInRole(world, "owner"), world.orgUid);
    await world.join(person, world.orgUid);
    const { uid } = await world.must(createPullToken, { parent: world.orgUid, pullToken }, person.token);
    const elsewhere = await signIn(await start(), subject);
    assert.equal(decodeJwt(elsewhere).sub, person.uid);
    for (const method of [getPullToken, rotatePullToken, deletePullToken])
      assert.equal(codeOf(await world.rest.call(method, { uid }, elsewhere)), Code.PERMISSION_DENIED, method.name);
    await world.must(deletePullToken, { uid }, person.token);
  });
});
