/** Tests who may provision, and how directories are isolated from each other. */
import { deepEqual, equal, match } from "node:assert/strict";
import { connect } from "node:http2";
import { before, test } from "node:test";
import {
  createDirectory,
  type Directory,
  filtered,
  GROUP,
  patch,
  setEnabled,
  startDirectory,
  unknownToken,
} from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

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

  test("a token of one provider's directory is refused at another provider's path", async () => {
    const first = await startDirectory(world, { issuer: world.issuer });
    const second = await startDirectory(world, { issuer: world.issuer });
    equal((await createDirectory(world, second.organization, second.idpUid, first.token).call("GET", "/Users")).status, 401);
  });
});
