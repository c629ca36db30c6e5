/** Tests who may provision, how directories are isolated from each other, and how deactivation affects rights. */
import { deepEqual, equal, match } from "node:assert/strict";
import { connect } from "node:http2";
import { before, describe, test } from "node:test";
import { Auth } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { SecurityTokenService } from "@holt/api/gen/platform/oidc/v1/security_token_service_pb.ts";
import { answerOf, codeOf } from "../harness/clients.ts";
import {
  createDirectory,
  type Directory,
  type DirectoryOptions,
  filtered,
  GROUP,
  patch,
  setEnabled,
  startDirectory,
  unknownToken,
} from "../harness/scim/directory.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const UNAUTHENTICATED = 16;
const PERMISSION_DENIED = 7;
const ROUNDS = 15;
const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";

describeWithWorld("access to SCIM", (world) => {
  let directory: Directory;
  let other: Directory;
  before(async () => {
    directory = await startDirectory(world);
    other = await startDirectory(world);
  });

  test("only the provider's own token gives access, and all other callers get the same error", async () => {
    const missing = directory.idpUid.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const attempts: readonly (readonly [path: string, token: string | undefined])[] = [
      [directory.path, undefined],
      [directory.path, "nonsense"],
      [directory.path, unknownToken()],
      [directory.path, other.token],
      [directory.path, world.owner.token],
      [`/scim/v2/${missing}`, directory.token],
      [`/scim/v2/${missing}`, unknownToken()],
      ["/scim/v2/nonsense", directory.token],
    ];
    const answers = new Set<string>();
    for (const [path, token] of attempts) {
      for (const below of ["/Users", "/ServiceProviderConfig", "/Nothing"]) {
        const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
        const { status, text, headers: received } = await world.http("GET", `${path}${below}`, undefined, headers);
        deepEqual([status, received["content-type"], received["www-authenticate"]], [401, "application/scim+json", 'Bearer realm="SCIM"']);
        if (token !== undefined) answers.add(text);
        deepEqual([JSON.parse(text).schemas, JSON.parse(text).status], [[ERROR], "401"]);
      }
    }
    equal(answers.size, 1);
  });

  test("the body of an anonymous request is not read", async () => {
    const { status } = await world.http("POST", `${directory.path}/Users`, "{ not JSON", { authorization: "Bearer x" });
    equal(status, 401);
  });

  test("while provisioning is disabled, requests with a valid token are refused", async () => {
    await setEnabled(world, directory.idpUid, 0);
    const { status, body } = await directory.call("GET", "/Users");
    equal(status, 403);
    match(body.detail, /switched off/);
    equal((await world.http("GET", `${directory.path}/Users`, undefined, { authorization: `Bearer ${unknownToken()}` })).status, 401);
    await setEnabled(world, directory.idpUid);
    equal((await directory.call("GET", "/Users")).status, 200);
  });

  test("a directory can neither see nor change the resources of another", async () => {
    const user = await other.user({ userName: "same@example.com", externalId: "same" });
    const group = await other.group("same", [user.id]);
    const own = await directory.user({ userName: "same@example.com", externalId: "same" });
    const ownGroup = await directory.group("own", [own.id]);
    for (const path of [`/Users/${user.id}`, `/Groups/${group.id}`]) {
      for (const [method, body] of [
        ["GET"],
        ["DELETE"],
        ["PUT", { userName: "x", displayName: "x" }],
        ["PATCH", patch({ op: "add", value: { displayName: "x" } })],
      ] as const) {
        equal((await directory.call(method, path, body)).status, 404, `${method} ${path}`);
      }
    }
    equal((await directory.must(200, "GET", filtered("/Users", `id eq "${user.id}" or userName eq "same@example.com"`))).totalResults, 1);
    equal((await directory.must(200, "GET", filtered("/Users", `groups.value eq "${group.id}"`))).totalResults, 0);
    const foreign = await directory.call(
      "PATCH",
      `/Groups/${ownGroup.id}`,
      patch({ op: "add", path: "members", value: [{ value: user.id }] }),
    );
    deepEqual([foreign.status, foreign.body.scimType], [400, "invalidValue"]);
    equal((await other.must(200, "GET", `/Groups/${group.id}`)).members[0].value, user.id);
  });

  test("concurrent requests of several directories do not mix", async () => {
    const directories = [directory, other];
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => directories[i % 2]?.user({ title: `of ${i % 2}` })));
    for (const [i, user] of made.entries()) {
      equal(user.meta.location.startsWith(`${world.baseUrl}${directories[i % 2]?.path}/Users/`), true);
      equal(user.title, `of ${i % 2}`);
    }
  });

  test("SCIM works over HTTP/2", async () => {
    const session = connect(world.baseUrl);
    async function call(method: string, path: string, token: string, body?: unknown): Promise<[status: number, text: string]> {
      const stream = session.request({ ":method": method, ":path": `${directory.path}${path}`, authorization: `Bearer ${token}` });
      stream.end(body === undefined ? undefined : JSON.stringify(body));
      const status = new Promise<number>((resolve) => stream.once("response", (headers) => resolve(Number(headers[":status"]))));
      const chunks = await stream.setEncoding("utf8").toArray();
      return [await status, chunks.join("")];
    }
    const [status, text] = await call("POST", "/Users", directory.token, { userName: "over HTTP/2" });
    equal(status, 201);
    const { id } = JSON.parse(text) as { id: string };
    equal((await call("PATCH", `/Users/${id}`, directory.token, patch({ op: "add", path: "title", value: "x" })))[0], 200);
    equal((await call("PATCH", `/Users/${id}`, other.token, { large: "x".repeat(100_000) }))[0], 401);
    deepEqual(await call("DELETE", `/Users/${id}`, directory.token), [204, ""]);
    session.close();
  });

  test("the server describes its configuration, resource types and schemas", async () => {
    const config = await directory.must(200, "GET", "/ServiceProviderConfig");
    deepEqual([config.patch.supported, config.bulk.supported, config.filter.supported, config.etag.supported], [true, true, true, true]);
    const types = await directory.must(200, "GET", "/ResourceTypes");
    deepEqual(
      types.Resources.map((each: { id: string }) => each.id),
      ["User", "Group"],
    );
    deepEqual(await directory.must(200, "GET", "/ResourceTypes/User"), types.Resources[0]);
    equal(types.Resources[0].schemaExtensions[0].required, false);
    const schemas = await directory.must(200, "GET", "/Schemas");
    equal(schemas.totalResults, 3);
    for (const schema of schemas.Resources) {
      deepEqual(await directory.must(200, "GET", `/Schemas/${schema.id}`), schema);
      equal(schema.meta.location, `${world.baseUrl}${directory.path}/Schemas/${schema.id}`);
    }
    equal((await directory.call("GET", `/Schemas${"?filter=id%20pr"}`)).status, 403);
  });

  test("the schema of groups describes the attributes of members that answers contain", async () => {
    const { id } = await directory.user();
    const group = await directory.group("described", [], { members: [{ value: id, display: "Barbara" }] });
    const { attributes } = await directory.must(200, "GET", `/Schemas/${GROUP}`);
    const described = attributes.find((each: { name: string }) => each.name === "members").subAttributes;
    deepEqual(described.map((each: { name: string }) => each.name).sort(), Object.keys(group.members[0]).sort());
  });

  const answered: readonly (readonly [status: number, method: string, path: string])[] = [
    [404, "GET", "/Nothing"],
    [404, "GET", ""],
    [404, "GET", "/Users/a/b"],
    [404, "GET", "/Users/%00"],
    [404, "GET", "/Users/nobody"],
    [404, "GET", "/Schemas/unknown"],
    [404, "GET", "/toString"],
    [405, "DELETE", "/Users"],
    [405, "POST", "/Users/nobody"],
    [405, "POST", "/Schemas"],
    [405, "GET", "/Bulk"],
    [501, "GET", "/Me"],
  ];
  test("the slash in the uid of the identity provider may be percent-encoded", async () => {
    const { id } = await directory.user();
    for (const slash of ["%2F", "%2f"]) {
      const path = `${directory.path.slice(0, -directory.idpUid.length)}${directory.idpUid.replace("/", slash)}/Users/${id}`;
      const { status, text } = await world.http("GET", path, undefined, { authorization: `Bearer ${directory.token}` });
      equal(status, 200, text);
      match(JSON.parse(text).meta.location, new RegExp(`${directory.path}/Users/${id}$`));
    }
  });

  for (const [status, method, path] of answered) {
    test(`${method} ${path} is answered with ${status}`, async () => {
      const answer = await directory.call(method, path, method === "GET" ? undefined : {});
      // A malformed path fails authentication before the provider is looked up.
      equal(answer.status, path === "/Users/a/b" ? 401 : status);
      deepEqual([answer.body.schemas, answer.headers["content-type"]], [[ERROR], "application/scim+json"]);
    });
  }
});

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

  test("a token of one provider's directory is refused at another provider's path", async () => {
    const first = await start();
    const second = await start();
    equal((await createDirectory(world, second.organization, second.idpUid, first.token).call("GET", "/Users")).status, 401);
  });
});

async function subjectOf(world: World, { uid }: Caller): Promise<string> {
  const { body } = await world.store.reader.selectFrom("identity").select("body").where("uid", "=", uid).executeTakeFirstOrThrow();
  return (JSON.parse(body) as { claimMatch: { subject: string } }).claimMatch.subject;
}
