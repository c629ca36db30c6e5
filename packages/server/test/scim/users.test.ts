/** Tests users over SCIM (RFC 7644): create, read, replace, change, delete, and invalid requests. */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { before, test } from "node:test";
import { entriesAfter, lastSeq } from "../auditing/audit-log.ts";
import { type Directory, ENTERPRISE, filtered, patch, startDirectory, USER } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

const LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse";
const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";

describeWithWorld("users over SCIM", (world) => {
  let directory: Directory;
  before(async () => {
    directory = await startDirectory(world);
  });

  /** RFC 7644 §3.3. */
  test("a user is created as in the RFC and found at its location", async () => {
    const request = {
      schemas: [USER],
      userName: "bjensen",
      externalId: "bjensen",
      name: { formatted: "Ms. Barbara J Jensen III", familyName: "Jensen", givenName: "Barbara" },
    };
    const { status, headers, body } = await directory.call("POST", "/Users", request);
    equal(status, 201);
    equal(headers["content-type"], "application/scim+json");
    equal(headers.location, body.meta.location);
    equal(headers.etag, body.meta.version);
    const { id, meta, ...rest } = body;
    deepEqual(rest, { ...request, active: true });
    deepEqual(meta, { ...meta, resourceType: "User", location: `${world.baseUrl}${directory.path}/Users/${id}`, version: 'W/"1"' });
    equal(meta.created, meta.lastModified);
    deepEqual(await directory.must(200, "GET", `/Users/${id}`), body);
  });

  /** RFC 7643 §8.3, without the attributes that a directory cannot set. */
  test("the full user of the RFC is stored with the enterprise extension and without its password", async () => {
    const full = {
      schemas: [USER, ENTERPRISE],
      externalId: "701984",
      userName: "bjensen@example.com",
      name: {
        formatted: "Ms. Barbara J Jensen, III",
        familyName: "Jensen",
        givenName: "Barbara",
        middleName: "Jane",
        honorificPrefix: "Ms.",
        honorificSuffix: "III",
      },
      displayName: "Babs Jensen",
      nickName: "Babs",
      profileUrl: "https://login.example.com/bjensen",
      emails: [
        { value: "bjensen@example.com", type: "work", primary: true },
        { value: "babs@jensen.org", type: "home" },
      ],
      addresses: [
        {
          type: "work",
          streetAddress: "100 Universal City Plaza",
          locality: "Hollywood",
          region: "CA",
          postalCode: "91608",
          country: "USA",
          formatted: "100 Universal City Plaza\nHollywood, CA 91608 USA",
          primary: true,
        },
      ],
      phoneNumbers: [{ value: "555-555-5555", type: "work" }],
      ims: [{ value: "someaimhandle", type: "aim" }],
      photos: [{ value: "https://photos.example.com/profilephoto/72930000000Ccne/F", type: "photo" }],
      userType: "Employee",
      title: "Tour Guide",
      preferredLanguage: "en-US",
      locale: "en-US",
      timezone: "America/Los_Angeles",
      active: true,
      [ENTERPRISE]: {
        employeeNumber: "701984",
        costCenter: "4130",
        organization: "Universal Studios",
        division: "Theme Park",
        department: "Tour Operations",
        manager: { value: "26118915-6090-4610-87e4-49d8ca9f808d", $ref: "../Users/26118915-6090-4610-87e4-49d8ca9f808d" },
      },
    };
    const made = await directory.must(201, "POST", "/Users", { ...full, password: "t1meMa$heen" });
    const { id, meta, ...rest } = made;
    deepEqual(rest, full);
    deepEqual(await directory.must(200, "GET", `/Users/${id}`), made);
    const { rows } = { rows: await world.store.reader.selectFrom("scim_user").select("body").where("id", "=", id).execute() };
    equal(rows[0]?.body.includes("t1meMa"), false);
  });

  test("replacing a user without active keeps whether it is active", async () => {
    const { id, meta } = await directory.user({ userName: "whole", nickName: "w", active: false });
    const replaced = await directory.must(200, "PUT", `/Users/${id}`, { schemas: [USER], id, userName: "Whole", title: "New", meta });
    equal(replaced.nickName, undefined);
    equal(replaced.title, "New");
    equal(replaced.userName, "Whole");
    equal(replaced.active, false);
    equal(replaced.meta.version, 'W/"2"');
    notEqual((await directory.must(200, "PUT", `/Users/${id}`, { userName: "Whole", active: true })).active, false);
  });

  test("a user name is unique ignoring case, and free again once its user is deleted", async () => {
    const { id } = await directory.user({ userName: "Taken@example.com" });
    const { status, body } = await directory.call("POST", "/Users", { schemas: [USER], userName: "taken@EXAMPLE.com" });
    deepEqual([status, body.schemas, body.status, body.scimType], [409, [ERROR], "409", "uniqueness"]);
    const other = await directory.user();
    equal(
      (await directory.call("PATCH", `/Users/${other.id}`, patch({ op: "replace", path: "userName", value: "TAKEN@example.com" }))).status,
      409,
    );
    equal((await directory.call("DELETE", `/Users/${id}`)).status, 204);
    await directory.user({ userName: "taken@example.com" });
  });

  test("an external id is unique", async () => {
    await directory.user({ externalId: "ext-1" });
    const { status, body } = await directory.call("POST", "/Users", { schemas: [USER], userName: "another", externalId: "ext-1" });
    deepEqual([status, body.scimType], [409, "uniqueness"]);
    match(body.detail, /externalId/);
    await directory.user({ externalId: "EXT-1" });
  });

  test("a deleted user is not found", async () => {
    const { id } = await directory.user({ userName: "leaver", externalId: "leaver-1" });
    const { status, body } = await directory.call("DELETE", `/Users/${id}`);
    deepEqual([status, body], [204, undefined]);
    for (const [method, request] of [
      ["GET"],
      ["DELETE"],
      ["PUT", { userName: "x" }],
      ["PATCH", patch({ op: "add", path: "title", value: "x" })],
    ] as const) {
      equal((await directory.call(method, `/Users/${id}`, request)).status, 404, method);
    }
    equal((await directory.must(200, "GET", filtered("/Users", 'userName eq "leaver" or externalId eq "leaver-1"'))).totalResults, 0);
  });

  test("a change with an outdated etag is rejected", async () => {
    const { id, meta } = await directory.user();
    const change = patch({ op: "replace", path: "title", value: "Boss" });
    const first = await directory.call("PATCH", `/Users/${id}`, change, { "if-match": meta.version });
    deepEqual([first.status, first.headers.etag], [200, 'W/"2"']);
    for (const [method, body] of [["PATCH", change], ["PUT", { userName: "other" }], ["DELETE"]] as const) {
      equal((await directory.call(method, `/Users/${id}`, body, { "if-match": meta.version })).status, 412, method);
    }
    equal((await directory.call("PATCH", `/Users/${id}`, change, { "if-match": "*" })).status, 200);
    equal((await directory.call("DELETE", `/Users/${id}`, undefined, { "if-match": 'W/"1", W/"2"' })).status, 204);
  });

  test("a change without effect keeps the version", async () => {
    const email = { type: "work", value: "boss@example.com", primary: true };
    const { id } = await directory.user({ title: "Boss", emails: [email] });
    for (const operation of [
      { op: "replace", path: "title", value: "Boss" },
      { op: "add", path: "emails", value: [email] },
    ]) {
      const { meta, emails } = await directory.must(200, "PATCH", `/Users/${id}`, patch(operation));
      deepEqual([meta.version, emails], ['W/"1"', [email]]);
    }
  });

  test("a response has the requested attributes", async () => {
    const { id } = await directory.user({
      userName: "parts",
      title: "T",
      name: { givenName: "G", familyName: "F" },
      [ENTERPRISE]: { department: "D" },
    });
    const only = await directory.must(200, "GET", `/Users/${id}?attributes=USERNAME,name.givenName,${ENTERPRISE}:department`);
    deepEqual(only, { schemas: [USER, ENTERPRISE], id, userName: "parts", name: { givenName: "G" }, [ENTERPRISE]: { department: "D" } });
    const less = await directory.must(200, "GET", `/Users/${id}?excludedAttributes=id,name.familyName,meta,${ENTERPRISE}`);
    deepEqual(less, { schemas: [USER, ENTERPRISE], id, userName: "parts", title: "T", active: true, name: { givenName: "G" } });
    const patched = await directory.must(
      200,
      "PATCH",
      `/Users/${id}?attributes=title`,
      patch({ op: "replace", path: "title", value: "U" }),
    );
    deepEqual(patched, { schemas: [USER, ENTERPRISE], id, title: "U" });
  });

  test("nonstandard input of known directories is accepted", async () => {
    const made = await directory.must(201, "POST", "/Users", {
      schemas: [USER, "urn:ietf:params:scim:schemas:extension:CustomExtensionName:2.0:User"],
      id: "not for you to say",
      USERNAME: "tolerant",
      Active: "False",
      nickName: null,
      name: { GivenName: "L", unknown: 1 },
      emails: { value: "tolerant@example.com", type: "primary", primary: "True" },
      phoneNumbers: [],
      roles: [{ value: "admin", type: "WindowsAzureActiveDirectoryRole" }],
      groups: [{ value: "x" }],
      favouriteColour: "blue",
      [`${ENTERPRISE}:department`]: "D",
      [ENTERPRISE]: { manager: "26118915" },
      "urn:ietf:params:scim:schemas:extension:CustomExtensionName:2.0:User": { tag: "t" },
    });
    const { id, meta, ...rest } = made;
    notEqual(id, "not for you to say");
    deepEqual(rest, {
      schemas: [USER, ENTERPRISE],
      userName: "tolerant",
      active: false,
      name: { givenName: "L" },
      emails: [{ value: "tolerant@example.com", type: "primary", primary: true }],
      roles: [{ value: "admin", type: "WindowsAzureActiveDirectoryRole" }],
      [ENTERPRISE]: { department: "D", manager: { value: "26118915" } },
    });
  });

  const refused: readonly (readonly [what: string, body: unknown, scimType: string | undefined])[] = [
    ["a body that is not JSON", "{", "invalidSyntax"],
    ["a list", [], "invalidSyntax"],
    ["the same name twice", '{"userName":"a","userName":"b"}', "invalidSyntax"],
    ["no user name", { schemas: [USER] }, "invalidValue"],
    ["an empty user name", { userName: " " }, "invalidValue"],
    ["a user name that is an object", { userName: { a: 1 } }, "invalidValue"],
    ["a NUL", { userName: "a\0b" }, "invalidValue"],
    ["a lone surrogate", '{"userName":"a\\ud800"}', "invalidValue"],
    ["a user name that is too long", { userName: "a".repeat(501) }, "invalidValue"],
    ["a malformed boolean", { userName: "bool", active: "maybe" }, "invalidValue"],
    ["a string for a complex value", { userName: "c", name: "text" }, "invalidValue"],
    [
      "more values than an attribute may have",
      { userName: "v", emails: Array.from({ length: 201 }, (_, i) => ({ value: `${i}@x` })) },
      "invalidValue",
    ],
    ["too many bytes to store", { userName: "big", title: "t".repeat(70_000) }, "invalidValue"],
    ["more elements than a request may have", { userName: "many", emails: Array(30_000).fill({}) }, undefined],
  ];
  for (const [what, body, scimType] of refused) {
    test(`a user with ${what} is rejected`, async () => {
      const answer = await directory.call("POST", "/Users", body);
      deepEqual([answer.status, answer.body.schemas, answer.body.scimType], [400, [ERROR], scimType]);
      equal(answer.headers["content-type"], "application/scim+json");
    });
  }

  test("a body that is too large is rejected", async () => {
    equal((await directory.call("POST", "/Users", { userName: "x", title: "x".repeat(5 * 1024 * 1024) })).status, 413);
  });

  test("a PATCH with too many operations or values is rejected", async () => {
    const { id } = await directory.user();
    const change = (...operations: unknown[]) => directory.call("PATCH", `/Users/${id}`, patch(...operations));
    equal((await change(...Array(201).fill({ op: "replace", path: "title", value: "x" }))).status, 413);
    const emails = (from: number) => Array.from({ length: 150 }, (_, i) => ({ value: `${from + i}@example.com` }));
    const added = [0, 150].map((from) => ({ op: "add", path: "emails", value: emails(from) }));
    deepEqual((await change(...added)).body.scimType, "invalidValue");
  });

  test("an empty list is a list response", async () => {
    const list = await directory.must(200, "GET", filtered("/Users", 'userName eq "nobody at all"'));
    deepEqual(list, { schemas: [LIST], totalResults: 0, startIndex: 1, itemsPerPage: 0, Resources: [] });
  });

  test("a request that changes nothing writes no audit entry", async () => {
    const { id, meta: _, ...user } = await directory.user({ title: "T" });
    const before = await lastSeq(world);
    await directory.must(200, "PUT", `/Users/${id}`, user);
    await directory.must(200, "PATCH", `/Users/${id}`, patch({ op: "replace", path: "title", value: "T" }));
    deepEqual(await entriesAfter(world, before), []);
  });
});
