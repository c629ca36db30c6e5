import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { describe, test } from "node:test";
import { growth, MAX_LINEAR_GROWTH } from "../../test/harness/cpu-cost.ts";
import { parseFilter } from "./filter.ts";
import { matchesFilter } from "./match.ts";
import { type Json, userType } from "./schema.ts";
import type { ScimError } from "./scim-error.ts";

const ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
const user: Json = {
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
  id: "1",
  externalId: "Ext",
  userName: "bJensen",
  name: { familyName: "O'Malley" },
  title: "Tour Guide",
  userType: "Employee",
  active: true,
  emails: [
    { type: "work", value: "bjensen@example.com", primary: true },
    { type: "home", value: "babs@jensen.org" },
  ],
  meta: { resourceType: "User", lastModified: "2011-05-13T04:42:34.000Z", version: 'W/"1"' },
  [ENTERPRISE]: { department: "Research and Development", manager: { value: "7" } },
};

function matches(filter: string): boolean {
  return matchesFilter(parseFilter(userType, filter), user);
}

describe("filters: examples of RFC 7644 §3.4.2.2", () => {
  const matching = [
    'userName eq "bjensen"',
    `name.familyName co "O'Malley"`,
    'userName sw "B"',
    'urn:ietf:params:scim:schemas:core:2.0:User:userName sw "b"',
    "title pr",
    'meta.lastModified gt "2011-05-13T04:42:33Z"',
    'meta.lastModified ge "2011-05-13T04:42:34Z"',
    'meta.lastModified lt "2011-05-13T06:42:35+02:00"',
    'meta.lastModified le "2011-05-13T04:42:34Z"',
    'title pr and userType eq "Employee"',
    'title pr or userType eq "Intern"',
    'schemas eq "urn:ietf:params:scim:schemas:core:2.0:User"',
    'userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")',
    'userType ne "Intern" and not (emails co "example.net" or emails.value co "example.org")',
    'userType eq "Employee" and (emails.type eq "work")',
    'userType eq "Employee" and emails[type eq "work" and value co "@example.com"]',
    'emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]',
  ];
  for (const filter of matching) test(filter, () => equal(matches(filter), true));
});

describe("filters: matching", () => {
  const cases: readonly (readonly [filter: string, holds: boolean])[] = [
    // One value must meet both conditions.
    ['emails[type eq "home" and value co "@example.com"]', false],
    ['emails.type eq "home" and emails.value co "@example.com"', true],
    ['emails[type eq "work"].value eq "BJENSEN@example.com"', true],
    // Case matters only if the schema says so.
    ['externalId eq "ext"', false],
    ['externalId eq "Ext"', true],
    // `and` binds tighter than `or`.
    ['userName eq "x" and title pr or active eq true', true],
    ['userName eq "x" and (title pr or active eq true)', false],
    // De Morgan's laws, and keywords within strings.
    ['not (userName eq "bjensen" and title eq "x")', true],
    ['not (userName eq "bjensen" or title eq "x")', false],
    [`not (${ENTERPRISE}:department eq "Research and Development")`, false],
    [`${ENTERPRISE}:department sw "research AND"`, true],
    [`${ENTERPRISE}:manager.value eq "7"`, true],
    [`${ENTERPRISE}:manager eq "7"`, true],
    ["nickName pr", false],
    ["not (nickName pr)", true],
    ['nickName ne "x"', true],
    ["nickName eq null", true],
    ["title ne null", true],
    ['active eq "True"', true],
    ["active eq false", false],
    ['title ew "GUIDE"', true],
    ['USERNAME EQ "bjensen"', true],
    ['title eq "Tour \\"Guide\\""', false],
    ['title eq "\\u0054our Guide"', true],
    ['userName gt "a" and userName lt "c"', true],
  ];
  for (const [filter, holds] of cases) test(filter, () => equal(matches(filter), holds));
});

test("a malformed or too complex filter is rejected as invalidFilter", () => {
  const refused = [
    "",
    "userName",
    "userName eq",
    "userName eq bjensen",
    "userName eq 'bjensen'",
    'userName is "x"',
    'colour eq "x"',
    'name.colour eq "x"',
    'userName eq "x" and',
    '(userName eq "x"',
    'userName eq "x")',
    'emails[type eq "x"',
    'userName[type eq "x"]',
    'not userName eq "x"',
    'userName eq "x" userName eq "y"',
    'userName eq "a\\u0000"',
    'userName eq "\\ud800"',
    'name eq "x"',
    "active gt true",
    "userName gt null",
    'meta.created gt "yesterday"',
    'password eq "x"',
    "userName eq \u00a7",
    `${"(".repeat(25)}title pr${")".repeat(25)}`,
    Array(101).fill("title pr").join(" or "),
    `userName eq "${"x".repeat(9000)}"`,
  ];
  for (const filter of refused) {
    throws(
      () => parseFilter(userType, filter),
      (error: ScimError) => error.scimType === "invalidFilter",
      filter.slice(0, 50),
    );
  }
  deepEqual(parseFilter(userType, "  title   pr  ").kind, "present");
});

test("a malformed filter is rejected quickly", () => {
  for (const [name, malformed] of Object.entries({
    parentheses: (size: number) => "(".repeat(size),
    quotes: (size: number) => '"'.repeat(size - 1 + (size % 2)),
    words: (size: number) => "a ".repeat(size / 2),
    brackets: (size: number) => "[".repeat(size),
    conjunctions: (size: number) => "title pr and ".repeat(size / 13),
    digits: (size: number) => "1".repeat(size),
    backslashes: (size: number) => `"${"\\".repeat(size)}`,
  })) {
    const cost = growth(490, (size) => throws(() => parseFilter(userType, malformed(size))));
    ok(cost < MAX_LINEAR_GROWTH, `${name}: ${cost}`);
  }
});
