/** Replays the requests of real directories, as their public documentation shows them. */
import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { ENTERPRISE, filtered, startDirectory } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

const USER = "urn:ietf:params:scim:schemas:core:2.0:User";
const GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group";
const PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

describeWithWorld("provisioning by real directories", (world) => {
  /** "Okta and SCIM Version 2.0". */
  test("Okta can find, create, read, change and deactivate users, and push groups", async () => {
    const okta = await startDirectory(world);
    const missing = await okta.must(200, "GET", "/Users?filter=userName%20eq%20%22test.user%40okta.local%22&startIndex=1&count=100");
    deepEqual(missing, {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    const user = {
      schemas: [USER],
      userName: "test.user@okta.local",
      name: { givenName: "Test", familyName: "User" },
      emails: [{ primary: true, value: "test.user@okta.local", type: "work" }],
      displayName: "Test User",
      locale: "en-US",
      externalId: "00ujl29u0le5T6Aj10h7",
      groups: [],
      password: "1mz050nq",
      active: true,
    };
    const made = await okta.must(201, "POST", "/Users", user);
    const path = `/Users/${made.id}`;
    deepEqual([made.userName, made.active, made.emails[0].primary, made.password], ["test.user@okta.local", true, true, undefined]);
    equal((await okta.must(200, "GET", "/Users?startIndex=1&count=100")).Resources[0].id, made.id);

    const changed = { ...(await okta.must(200, "GET", path)), name: { givenName: "Another", middleName: "", familyName: "User" } };
    equal((await okta.must(200, "PUT", path, changed)).name.givenName, "Another");
    const off = { schemas: [PATCH], Operations: [{ op: "replace", value: { active: false } }] };
    equal((await okta.must(200, "PATCH", path, off)).active, false);
    equal((await okta.must(200, "GET", path)).active, false);
    const on = { schemas: [PATCH], Operations: [{ op: "replace", value: { active: true } }] };
    equal((await okta.must(200, "PATCH", path, on)).active, true);
    const password = { schemas: [PATCH], Operations: [{ op: "replace", value: { password: "3498lkdsjf" } }] };
    await okta.must(200, "PATCH", path, password);

    const group = await okta.must(201, "POST", "/Groups", { schemas: [GROUP], displayName: "Test SCIMv2", members: [] });
    const groupPath = `/Groups/${group.id}`;
    equal((await okta.must(200, "GET", filtered("/Groups", 'displayName eq "Test SCIMv2"', "&startIndex=1&count=100"))).totalResults, 1);
    const rename = { schemas: [PATCH], Operations: [{ op: "replace", value: { id: group.id, displayName: "Test SCIMv3" } }] };
    await okta.must(204, "PATCH", groupPath, rename);
    const other = await okta.user();
    const members = {
      schemas: [PATCH],
      Operations: [
        { op: "remove", path: `members[value eq "${other.id}"]` },
        { op: "add", path: "members", value: [{ value: made.id, display: "test.user@okta.local" }] },
      ],
    };
    await okta.must(204, "PATCH", groupPath, members);
    const all = {
      schemas: [PATCH],
      Operations: [
        {
          op: "replace",
          path: "members",
          value: [
            { value: made.id, display: "a" },
            { value: other.id, display: "b" },
          ],
        },
      ],
    };
    await okta.must(204, "PATCH", groupPath, all);
    const read = await okta.must(200, "GET", groupPath);
    deepEqual([read.displayName, read.members.length], ["Test SCIMv3", 2]);
    await okta.must(204, "DELETE", groupPath);
  });

  /** "Tutorial: Develop and plan provisioning for a SCIM endpoint in Microsoft Entra ID". */
  test("Entra ID can find, create, change and disable users, and change the members of groups", async () => {
    const entra = await startDirectory(world, { rule: "CORRELATION_RULE_OID_EQUALS_EXTERNAL_ID" });
    const nobody = await entra.must(200, "GET", filtered("/Users", 'userName eq "Test_User_00aa00aa-bb11-cc22-dd33-44ee44ee44ee"'));
    deepEqual([nobody.totalResults, nobody.startIndex], [0, 1]);
    const user = {
      schemas: [USER, ENTERPRISE],
      externalId: "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
      userName: "Test_User_ab6490ee-1e48-479e-a20b-2d77186b5dd1",
      active: true,
      emails: [{ primary: true, type: "work", value: "Test_User_fd0ea19b-0777-472c-9f96-4f70d2226f2e@testuser.com" }],
      meta: { resourceType: "User" },
      name: { formatted: "givenName familyName", familyName: "familyName", givenName: "givenName" },
      roles: [],
      [ENTERPRISE]: { employeeNumber: "1", department: "Engineering" },
    };
    const made = await entra.must(201, "POST", "/Users", user);
    const path = `/Users/${made.id}`;
    equal((await entra.must(200, "GET", filtered("/Users", `externalId eq "${user.externalId}"`))).Resources[0].id, made.id);
    equal((await entra.must(200, "GET", filtered("/Users", `userName eq "${user.userName.toUpperCase()}"`))).totalResults, 1);
    equal((await entra.must(200, "GET", filtered("/Users", `emails[type eq "work"].value eq "${user.emails[0]?.value}"`))).totalResults, 1);
    const many = {
      schemas: [PATCH],
      Operations: [
        { op: "Replace", path: 'emails[type eq "work"].value', value: "updatedEmail@microsoft.com" },
        { op: "Replace", path: "name.familyName", value: "updatedFamilyName" },
        { op: "Add", path: 'phoneNumbers[type eq "mobile"].value', value: "+1 555" },
        { op: "Add", path: `${ENTERPRISE}:manager`, value: "26118915" },
        { op: "Replace", path: `${ENTERPRISE}:department`, value: "Sales" },
        { op: "Remove", path: `${ENTERPRISE}:employeeNumber` },
      ],
    };
    const changed = await entra.must(200, "PATCH", path, many);
    deepEqual(changed.emails, [{ primary: true, type: "work", value: "updatedEmail@microsoft.com" }]);
    deepEqual(changed.name, { formatted: "givenName familyName", familyName: "updatedFamilyName", givenName: "givenName" });
    deepEqual(changed.phoneNumbers, [{ type: "mobile", value: "+1 555" }]);
    deepEqual(changed[ENTERPRISE], { department: "Sales", manager: { value: "26118915" } });
    const name = {
      schemas: [PATCH],
      Operations: [{ op: "Replace", path: "userName", value: "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com" }],
    };
    equal((await entra.must(200, "PATCH", path, name)).userName, "5b50642d-79fc-4410-9e90-4c077cdd1a59@testuser.com");
    const disable = { schemas: [PATCH], Operations: [{ op: "Replace", path: "active", value: false }] };
    equal((await entra.must(200, "PATCH", path, disable)).active, false);
    const enable = { schemas: [PATCH], Operations: [{ op: "Replace", path: "active", value: "True" }] };
    equal((await entra.must(200, "PATCH", path, enable)).active, true);
    const disableByText = { schemas: [PATCH], Operations: [{ op: "Replace", path: "active", value: "False" }] };
    equal((await entra.must(200, "PATCH", path, disableByText)).active, false);

    const group = await entra.must(201, "POST", "/Groups", {
      schemas: [GROUP, "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"],
      externalId: "8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159",
      displayName: "displayName",
      meta: { resourceType: "Group" },
    });
    const groupPath = `/Groups/${group.id}`;
    equal((await entra.must(200, "GET", `${groupPath}?excludedAttributes=members`)).members, undefined);
    const found = await entra.must(200, "GET", filtered("/Groups", 'displayName eq "displayName"', "&excludedAttributes=members"));
    equal(found.totalResults, 1);
    await entra.must(204, "PATCH", groupPath, {
      schemas: [PATCH],
      Operations: [{ op: "Replace", path: "displayName", value: "1879db59" }],
    });
    await entra.must(204, "PATCH", groupPath, {
      schemas: [PATCH],
      Operations: [{ op: "Add", path: "members", value: [{ $ref: null, value: made.id }] }],
    });
    equal(
      (await entra.must(200, "GET", filtered("/Groups", `id eq "${group.id}" and members eq "${made.id}"`, "&attributes=id"))).totalResults,
      1,
    );
    await entra.must(204, "PATCH", groupPath, {
      schemas: [PATCH],
      Operations: [{ op: "Remove", path: "members", value: [{ $ref: null, value: made.id }] }],
    });
    equal((await entra.must(200, "GET", filtered("/Groups", `id eq "${group.id}" and members eq "${made.id}"`))).totalResults, 0);
    await entra.must(204, "PATCH", groupPath, {
      schemas: [PATCH],
      Operations: [{ op: "Add", path: "members", value: [{ value: made.id }] }],
    });
    await entra.must(204, "PATCH", groupPath, { schemas: [PATCH], Operations: [{ op: "Remove", path: `members[value eq "${made.id}"]` }] });
    await entra.must(204, "DELETE", groupPath);
    await entra.must(204, "DELETE", path);
    equal((await entra.call("GET", path)).status, 404);
  });

  test("JumpCloud can replace users by PUT, and groups with members by PUT and by PATCH without a schema", async () => {
    const cloud = await startDirectory(world);
    const made = await cloud.must(201, "POST", "/Users", {
      schemas: [USER],
      userName: "jc@example.com",
      externalId: "5f1b1e2a7c9d440000a1b2c3",
      emails: [{ type: "work", primary: true, value: "jc@example.com" }],
      name: { familyName: "C", givenName: "J" },
      active: true,
    });
    const put = await cloud.must(200, "PUT", `/Users/${made.id}`, { ...made, active: false, title: "Gone" });
    deepEqual([put.active, put.title, put.externalId], [false, "Gone", made.externalId]);
    const group = await cloud.must(201, "POST", "/Groups", { schemas: [GROUP], displayName: "everyone", members: [{ value: made.id }] });
    await cloud.must(204, "PATCH", `/Groups/${group.id}`, { Operations: [{ op: "remove", path: "members", value: [{ value: made.id }] }] });
    await cloud.must(204, "PATCH", `/Groups/${group.id}`, { Operations: [{ op: "add", path: "members", value: [{ value: made.id }] }] });
    equal((await cloud.must(200, "PUT", `/Groups/${group.id}`, { ...group, displayName: "all" })).members.length, 1);
  });
});
