/** Tests how deactivation by a directory affects the rights of a person. */
import { deepEqual, equal } from "node:assert/strict";
import { describe, test } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import { type Directory, type DirectoryOptions, patch, startDirectory } from "../harness/scim/directory.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;
const ROUNDS = 15;

describeWithWorld("deactivation by a directory", (world) => {
  /**
   * A person of the directory who has logged in through its provider and so has the default role in the organization.
   */
  interface Person extends Caller {
    readonly scimId: string;
    readonly subject: string;
    readonly refreshToken: string;
    readonly directory: Directory;
  }
  let made = 0;

  async function createPerson(directory: Directory, claims: Record<string, unknown> = {}): Promise<Person> {
    const subject = `person-${++made}`;
    const { id } = await directory.user({ userName: `${subject}@example.com`, externalId: claims.oid ?? subject });
    return { ...(await login(directory, subject, claims)), scimId: id, subject, directory };
  }

  async function login(directory: Directory, subject: string, claims: Record<string, unknown> = {}) {
    const exchanged = answerOf(await signIn(directory, subject, claims));
    return { uid: world.userUid(subject), token: exchanged.token, refreshToken: exchanged.refreshToken };
  }

  async function signIn(directory: Directory, subject: string, claims: Record<string, unknown> = {}) {
    const proof = await world.proofOf(subject, { aud: directory.clientId, ...claims });
    // Fails if the person is already registered.
    await world.rest.call(Auth.method.register, {}, proof);
    return world.rest.call(SecurityTokenService.method.exchange, { identityProvider: directory.idpUid }, proof);
  }

  const signInCode = async (directory: Directory, subject: string) => codeOf(await signIn(directory, subject));

  const start = (options: DirectoryOptions = {}) => startDirectory(world, { issuer: world.issuer, ...options });

  /** The google.rpc.Codes of reading the organization, over REST and gRPC. */
  async function codes({ token }: { token: string }, organization: string): Promise<number[]> {
    const request = { uid: organization };
    return [
      codeOf(await world.rest.call(GroupsService.method.getGroup, request, token)),
      codeOf(await world.grpc.call(GroupsService.method.getGroup, request, token)),
    ];
  }

  const off = patch({ op: "replace", value: { active: false } });
  const on = patch({ op: "replace", value: { active: true } });

  test("deactivating a user revokes rights for the next request, and activating restores them at the next sign-in", async () => {
    const directory = await start();
    const person = await createPerson(directory);
    deepEqual(await codes(person, directory.organization), [0, 0]);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, off);
    deepEqual(await codes(person, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, on);
    deepEqual(await codes(person, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED], "the session has ended");
    const again = await login(directory, person.subject);
    deepEqual(await codes(again, directory.organization), [0, 0]);
    await directory.must(204, "DELETE", `/Users/${person.scimId}`);
    deepEqual(await codes(again, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
  });

  test("a deactivated user cannot log in to the registry, exchange tokens or sign in", async () => {
    const directory = await start();
    const person = await createPerson(directory);
    const v2 = () => world.http("GET", "/v2/", undefined, { authorization: `Bearer ${person.token}` });
    equal((await v2()).status, 200);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, off);
    equal((await v2()).status, 401);
    equal(codeOf(await world.rest.call(SecurityTokenService.method.exchange, {}, person.token)), UNAUTHENTICATED);
    const proof = await world.proofOf(person.subject, { aud: directory.clientId });
    const again = await world.rest.call(SecurityTokenService.method.exchange, { identityProvider: directory.idpUid }, proof);
    equal(again.ok, false);
  });

  test("deactivation deletes refresh tokens of logins through the provider, and no others", async () => {
    const [directory, another] = [await start(), await start()];
    const person = await createPerson(directory);
    const elsewhere = await login(another, person.subject);
    const proof = await world.proofOf(person.subject);
    const direct = answerOf(await world.rest.call(SecurityTokenService.method.exchange, {}, proof)).refreshToken;
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, off);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, on);
    const refresh = async (token: string) => codeOf(await world.rest.call(SecurityTokenService.method.exchangeRefreshToken, {}, token));
    deepEqual([await refresh(person.refreshToken), await refresh(elsewhere.refreshToken), await refresh(direct)], [UNAUTHENTICATED, 0, 0]);
  });

  test("a login leaves no session if its person is deactivated while it runs", async () => {
    const directory = await start();
    const person = await createPerson(directory);
    for (let round = 0; round < ROUNDS; round++) {
      const proof = await world.proofOf(person.subject, { aud: directory.clientId });
      const exchange = () => world.rest.call(SecurityTokenService.method.exchange, { identityProvider: directory.idpUid }, proof);
      await Promise.all([exchange(), exchange(), directory.must(200, "PATCH", `/Users/${person.scimId}`, off), exchange(), exchange()]);
      const sessions = world.store.reader.selectFrom("login_session").select("uid").where("identity_uid", "=", person.uid);
      deepEqual(await sessions.execute(), []);
      await directory.must(200, "PATCH", `/Users/${person.scimId}`, on);
    }
  });

  for (const rule of ["CORRELATION_RULE_SUB_EQUALS_EXTERNAL_ID", "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID"] as const) {
    test(`deactivation applies to people who logged in before they were provisioned: ${rule}`, async () => {
      const directory = await start({ rule });
      const subject = `person-${++made}`;
      const person = await login(directory, subject, { oid: subject });
      deepEqual(await codes(person, directory.organization), [0, 0]);
      const { id } = await directory.user({ externalId: subject });
      deepEqual(await codes(person, directory.organization), [0, 0]);
      await directory.must(200, "PATCH", `/Users/${id}`, off);
      deepEqual(await codes(person, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
    });
  }

  test("deactivation lasts after the user is deleted, and ends when the user is provisioned again", async () => {
    const directory = await start();
    const person = await createPerson(directory);
    await directory.must(204, "DELETE", `/Users/${person.scimId}`);
    equal(
      (
        await world.rest.call(
          SecurityTokenService.method.exchange,
          { identityProvider: directory.idpUid },
          await world.proofOf(person.subject, { aud: directory.clientId }),
        )
      ).ok,
      false,
    );
    await directory.user({ userName: `${person.subject}@example.com`, externalId: person.subject });
    deepEqual(await codes(await login(directory, person.subject), directory.organization), [0, 0]);
  });

  test("changing an external id acts like deletion, until the old external id is provisioned again", async () => {
    const directory = await start();
    const [person, next] = [await createPerson(directory), await createPerson(directory)];
    const change = (scimId: string, externalId: string) =>
      directory.must(200, "PATCH", `/Users/${scimId}`, patch({ op: "replace", path: "externalId", value: externalId }));
    /** The google.rpc.Codes of a sign-in of each. */
    const signIns = () => Promise.all([person, next].map(({ subject }) => signInCode(directory, subject)));
    await change(person.scimId, "somebody-else");
    deepEqual(await codes(person, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
    deepEqual(await codes(next, directory.organization), [0, 0]);
    deepEqual(await signIns(), [PERMISSION_DENIED, 0]);
    await change(next.scimId, person.subject);
    deepEqual(await codes(next, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
    deepEqual(await signIns(), [0, PERMISSION_DENIED], "the account is another person's now");
    await change(person.scimId, next.subject);
    deepEqual(await signIns(), [0, 0]);
    await directory.must(200, "PATCH", `/Users/${next.scimId}`, patch({ op: "remove", path: "externalId" }));
    deepEqual(await signIns(), [PERMISSION_DENIED, 0]);
  });

  test("a user identified by the claim oid is deactivated from the first login on", async () => {
    const directory = await start({ rule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" });
    const person = await createPerson(directory, { oid: `oid-${made}` });
    deepEqual(await codes(person, directory.organization), [0, 0]);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, off);
    deepEqual(await codes(person, directory.organization), [UNAUTHENTICATED, UNAUTHENTICATED]);
  });

  test("deactivation counts in the directory's own organization only", async () => {
    const mine = await start();
    const theirs = await start();
    const person = await createPerson(mine);
    await world.bind(person.uid, await world.role(theirs.organization, [Capability.CAP_IAM_GROUPS_LIST]), theirs.organization);
    // Any organization can register the same issuer and provision any account.
    const { id } = await theirs.user({ externalId: person.subject, active: false });
    deepEqual(await codes(person, mine.organization), [0, 0]);
    equal((await codes(person, theirs.organization))[0] !== 0, true);
    await theirs.must(204, "DELETE", `/Users/${id}`);
    deepEqual(await codes(person, mine.organization), [0, 0]);
  });

  test("deactivation does not lock out people who never logged in through the provider", async () => {
    const hostile = await start();
    const victim = await world.user();
    const subject = await subjectOf(world, victim);
    await hostile.user({ externalId: subject, active: false });
    await world.bind(victim.uid, await world.role(hostile.organization, [Capability.CAP_IAM_GROUPS_LIST]), hostile.organization);
    equal(codeOf(await world.rest.call(GroupsService.method.listGroups, {}, victim.token)), 0);
  });

  test("deactivation ends when the identity provider is deleted", async () => {
    const directory = await start();
    const person = await createPerson(directory);
    await directory.must(200, "PATCH", `/Users/${person.scimId}`, off);
    equal((await world.raw("DELETE", `/iam/v2/identityProviders/${directory.idpUid}`)).status, 200);
    deepEqual(
      await world.store.reader
        .selectFrom("scim_identity")
        .select("identity_uid")
        .where("idp_uid", "=", directory.idpUid)
        .orderBy("identity_uid")
        .execute(),
      [],
    );
    const elsewhere = await start({ organization: directory.organization });
    deepEqual(await codes(await login(elsewhere, person.subject), directory.organization), [0, 0]);
  });

  describe("groups of the directory", () => {
    test("groups of the directory give their mapped roles while the person is a member", async () => {
      const directory = await start({ groupsClaim: "groups" });
      const subject = `person-${++made}`;
      const { id } = await directory.user({ externalId: subject });
      const group = await directory.group("Admins", [id], { externalId: "group-1" });
      const roleUid = await world.role(directory.organization, [Capability.CAP_IAM_ROLES_LIST, Capability.CAP_IAM_GROUPS_CREATE]);
      const mapping = { externalGroupId: "group-1", roleUid, scope: directory.organization };
      const { status, text } = await world.raw("POST", `/iam/v2/externalGroupRoleMappings/${directory.idpUid}`, mapping);
      equal(status, 200, text);
      const { token } = await login(directory, subject);
      const create = async () => (await world.raw("POST", `/iam/v2/groups/${directory.organization}`, { name: "made" }, token)).status;
      equal(await create(), 200);
      await directory.must(204, "PATCH", `/Groups/${group.id}`, patch({ op: "remove", path: `members[value eq "${id}"]` }));
      equal(await create(), 403);
      await directory.must(204, "PATCH", `/Groups/${group.id}`, patch({ op: "add", path: "members", value: [{ value: id }] }));
      equal(await create(), 200);
      await directory.must(204, "PATCH", `/Groups/${group.id}`, patch({ op: "replace", path: "externalId", value: "group-2" }));
      equal(await create(), 403);
      await directory.must(204, "PATCH", `/Groups/${group.id}`, patch({ op: "replace", path: "externalId", value: "group-1" }));
      equal(await create(), 200);
      await directory.must(204, "DELETE", `/Groups/${group.id}`);
      equal(await create(), 403);
    });
  });
});

async function subjectOf(world: World, { uid }: Caller): Promise<string> {
  const { body } = await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
  return (JSON.parse(body) as { claimMatch: { subject: string } }).claimMatch.subject;
}
