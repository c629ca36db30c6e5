import { deepEqual, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import { normalize } from "./normalize.ts";
import { applyPatch } from "./patch.ts";
import { parsePatch } from "./patch-request.ts";
import { type Json, userType } from "./schema.ts";
import type { ScimError } from "./scim-error.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/** The user after the operations, without the attributes that all users have. */
function patched(before: Json, ...Operations: Json[]): Json {
  const body = normalize(userType, { userName: "u", ...before });
  const { schemas, userName, ...rest } = normalize(userType, applyPatch(body, parsePatch(userType, { Operations })));
  return userName === "u" ? rest : { ...rest, userName };
}

function refuses(scimType: string, before: Json, ...operations: Json[]): void {
  throws(
    () => patched(before, ...operations),
    (error: ScimError) => error.scimType === scimType,
    JSON.stringify(operations),
  );
}

const home = { type: "home", value: "babs@jensen.org" };
const work = { type: "work", value: "bjensen@example.com", primary: true };

describe("PATCH: examples of RFC 7644 §3.5.2", () => {
  test("add without a path adds each attribute of the value", () => {
    const value = { emails: [{ value: "babs@jensen.org", type: "home" }], nickName: "Babs" };
    deepEqual(patched({ emails: [work] }, { op: "add", value }), { nickName: "Babs", emails: [work, home] });
  });
  test("remove with a filter removes the matching value, and the attribute with its last value", () => {
    deepEqual(patched({ emails: [home, work] }, { op: "remove", path: 'emails[type eq "work" and value ew "example.com"]' }), {
      emails: [home],
    });
    deepEqual(patched({ emails: [work] }, { op: "remove", path: 'emails[type eq "work"]' }), {});
  });
  test("remove removes an attribute or a sub-attribute", () => {
    const name = { givenName: "B", familyName: "J" };
    deepEqual(patched({ name, title: "T" }, { op: "remove", path: "name.familyName" }), { name: { givenName: "B" }, title: "T" });
    deepEqual(patched({ name, title: "T" }, { op: "remove", path: "name" }), { title: "T" });
    deepEqual(patched({ title: "T" }, { op: "remove", path: "nickName" }), { title: "T" });
  });
  test("replace removes the sub-attributes that are null and keeps those that are not given", () => {
    const name = { givenName: "B", familyName: "J" };
    deepEqual(patched({ name }, { op: "replace", path: "name", value: { givenName: null } }), { name: { familyName: "J" } });
    deepEqual(patched({ name }, { op: "replace", value: { name: { givenName: null, familyName: "K" } } }), { name: { familyName: "K" } });
  });
  test("replace replaces all values, one value or a sub-attribute", () => {
    const address = { type: "work", streetAddress: "100 Universal City Plaza", country: "USA" };
    const other = { type: "work", streetAddress: "911 Universal City Plaza", country: "US" };
    deepEqual(patched({ emails: [home, work] }, { op: "replace", path: "emails", value: [home] }), { emails: [home] });
    deepEqual(patched({ addresses: [address] }, { op: "replace", path: 'addresses[type eq "work"]', value: other }), {
      addresses: [other],
    });
    deepEqual(
      patched({ addresses: [address] }, { op: "replace", path: 'addresses[type eq "work"].streetAddress', value: "1010 Broadway Ave" }),
      {
        addresses: [{ ...address, streetAddress: "1010 Broadway Ave" }],
      },
    );
    const value = { emails: [home], nickName: "Babs" };
    deepEqual(patched({ emails: [work], nickName: "B" }, { op: "replace", value }), value);
  });
});

describe("PATCH operations", () => {
  test("a complex attribute keeps the sub-attributes that are not given", () => {
    for (const op of ["add", "replace"])
      deepEqual(patched({ name: { givenName: "B", familyName: "J" } }, { op, path: "name", value: { familyName: "K" } }), {
        name: { givenName: "B", familyName: "K" },
      });
  });
  test("a value that already exists is not added again", () => {
    deepEqual(patched({ emails: [home] }, { op: "add", path: "emails", value: home }), { emails: [home] });
    deepEqual(patched({ emails: [home, work] }, { op: "add", path: "emails", value: [work] }), { emails: [home, work] });
  });
  test("a new primary value replaces the old primary one", () => {
    const value = { type: "other", value: "x@example.com", primary: true };
    deepEqual(patched({ emails: [work] }, { op: "add", path: "emails", value: [value] }), { emails: [{ ...work, primary: false }, value] });
    deepEqual(patched({ emails: [home, work] }, { op: "replace", path: 'emails[type eq "home"].primary', value: true }), {
      emails: [
        { ...home, primary: true },
        { ...work, primary: false },
      ],
    });
  });
  test("an extension is changed as a whole or by attribute", () => {
    const extension = { department: "D", manager: { value: "1" } };
    deepEqual(patched({}, { op: "add", path: ENTERPRISE, value: extension }), { [ENTERPRISE]: extension });
    deepEqual(patched({ [ENTERPRISE]: extension }, { op: "replace", path: `${ENTERPRISE}:department`, value: "E" }), {
      [ENTERPRISE]: { ...extension, department: "E" },
    });
    deepEqual(patched({ [ENTERPRISE]: extension }, { op: "replace", path: `${ENTERPRISE}:manager.value`, value: "2" }), {
      [ENTERPRISE]: { ...extension, manager: { value: "2" } },
    });
    deepEqual(patched({ [ENTERPRISE]: extension }, { op: "replace", value: { [ENTERPRISE]: { Department: "E" } } }), {
      [ENTERPRISE]: { ...extension, department: "E" },
    });
    deepEqual(patched({ [ENTERPRISE]: extension }, { op: "remove", path: ENTERPRISE }), {});
    deepEqual(patched({}, { op: "add", path: "urn:ietf:params:scim:schemas:core:2.0:User:title", value: "T" }), { title: "T" });
  });
  test("operations are applied in their order", () => {
    deepEqual(
      patched({}, { op: "add", path: "title", value: "A" }, { op: "replace", path: "title", value: "B" }, { op: "remove", path: "title" }),
      {},
    );
  });
  test("the value null removes an attribute", () => {
    deepEqual(
      patched({ title: "T", emails: [home] }, { op: "replace", path: "title", value: null }, { op: "replace", value: { emails: null } }),
      {},
    );
  });
});

describe("PATCH requests of Entra ID", () => {
  test("verbs in any case and booleans as strings are accepted", () => {
    deepEqual(patched({ active: true }, { op: "Replace", path: "active", value: "False" }), { active: false });
    deepEqual(patched({}, { op: "Add", path: "Active", value: "True" }), { active: true });
  });
  test("setting a sub-attribute of a missing value creates the value", () => {
    for (const op of ["Add", "Replace"]) {
      deepEqual(patched({}, { op, path: 'emails[type eq "work"].value', value: "a@example.com" }), {
        emails: [{ type: "work", value: "a@example.com" }],
      });
    }
    deepEqual(patched({}, { op: "Add", path: 'addresses[type eq "work"].formatted', value: "Columbus" }), {
      addresses: [{ type: "work", formatted: "Columbus" }],
    });
    deepEqual(patched({}, { op: "Add", path: 'roles[primary eq "True"].value', value: "admin" }), {
      roles: [{ primary: true, value: "admin" }],
    });
  });
  test("setting a sub-attribute of an existing value changes it, also by Add", () => {
    deepEqual(patched({ emails: [home, work] }, { op: "Add", path: 'emails[type eq "work"].value', value: "new@example.com" }), {
      emails: [home, { ...work, value: "new@example.com" }],
    });
  });
  test("one value may contain several paths", () => {
    const value = {
      displayName: "B",
      'emails[type eq "work"].value': "w@example.com",
      "name.familyName": "J",
      [`${ENTERPRISE}:department`]: "D",
      [`${ENTERPRISE}:manager`]: "26118915",
      unknown: 1,
      id: "x",
    };
    deepEqual(patched({}, { op: "replace", value }), {
      displayName: "B",
      emails: [{ type: "work", value: "w@example.com" }],
      name: { familyName: "J" },
      [ENTERPRISE]: { department: "D", manager: { value: "26118915" } },
    });
  });
});

test("an invalid PATCH is rejected with the matching scimType", () => {
  refuses("invalidPath", {}, { op: "add", path: "colour", value: 1 });
  refuses("invalidPath", {}, { op: "add", path: "name.colour", value: 1 });
  refuses("invalidPath", {}, { op: "add", path: 'userName[type eq "x"]', value: 1 });
  refuses("invalidPath", {}, { op: "add", path: `${ENTERPRISE}2:department`, value: 1 });
  refuses("invalidFilter", {}, { op: "remove", path: "emails[type eq]" });
  refuses("invalidFilter", {}, { op: "remove", path: 'emails[type eq "work"' });
  refuses("mutability", {}, { op: "replace", path: "id", value: "x" });
  refuses("mutability", {}, { op: "add", path: "groups", value: [] });
  refuses("mutability", {}, { op: "remove", path: "meta.created" });
  refuses("noTarget", {}, { op: "remove" });
  refuses("noTarget", {}, { op: "replace", path: 'emails[type ne "work"].value', value: "x" });
  refuses("invalidValue", {}, { op: "remove", path: "userName" });
  refuses("invalidValue", {}, { op: "add", path: "title" });
  refuses("invalidValue", {}, { op: "add", value: "text" });
  refuses("invalidValue", {}, { op: "add", path: "active", value: "perhaps" });
  refuses("invalidSyntax", {}, { op: "move", path: "title", value: "x" });
  refuses("invalidSyntax", {});
});

test("the filters of all operations together have a limited number of terms", () => {
  const path = `emails[${Array.from({ length: 50 }, (_, i) => `value eq "${i}"`).join(" or ")}]`;
  const remove = (count: number) => parsePatch(userType, { Operations: Array.from({ length: count }, () => ({ op: "remove", path })) });
  deepEqual(remove(39).length, 39);
  throws(() => remove(40), /more than 2000 paths and terms: split the request/);
});
