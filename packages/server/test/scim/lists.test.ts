/**
 * Tests lists over SCIM: filters, whichever part of them the database answers; order; pages; searches; large
 * directories.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { before, describe, test } from "node:test";
import { parseFilter } from "../../src/scim/filter.ts";
import { matchesFilter } from "../../src/scim/match.ts";
import { userType } from "../../src/scim/schema.ts";
import { type Directory, ENTERPRISE, filtered, type Json, startDirectory } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

const PEOPLE: readonly Json[] = [
  { userName: "anna@example.com", externalId: "Ext-A", title: "Boss", active: true, emails: [{ type: "work", value: "anna@example.com" }] },
  { userName: "Bert@example.com", externalId: "ext-b", title: "boss", active: false, emails: [{ type: "home", value: "bert@home.org" }] },
  { userName: "carl%_!x@example.com", name: { familyName: "Übel" }, [ENTERPRISE]: { department: "R and D", manager: { value: "7" } } },
  {
    userName: "dora",
    externalId: "ext-d",
    nickName: "D",
    emails: [{ value: "x@example.com" }, { type: "work", value: "d@home.org", primary: true }],
  },
  { userName: 'emil "the" \\ great', title: "x" },
];

const FILTERS: readonly string[] = [
  'userName eq "ANNA@example.com"',
  'userName ne "anna@example.com"',
  'externalId eq "ext-a"',
  'externalId eq "Ext-A"',
  'externalId ne "ext-b"',
  "externalId pr",
  "not (externalId pr)",
  "externalId eq null",
  "externalId ne null",
  'externalId sw "ext"',
  'externalId gt "ext-b"',
  'not (externalId eq "ext-b")',
  'not (externalId gt "ext-b")',
  "active eq true",
  'active eq "False"',
  "active ne true",
  'userName co "%_!"',
  'userName sw "B"',
  'userName ew "COM"',
  'userName gt "b" and userName le "dora"',
  'userName co "\\"the\\" \\\\"',
  'title eq "Boss"',
  "title pr",
  "not (title pr)",
  'title eq "boss" and active eq true',
  'title eq "boss" or externalId eq "ext-d"',
  'not (title eq "boss") and active eq true',
  'name.familyName eq "übel"',
  'name.familyName co "ÜB"',
  'emails.value co "home"',
  'emails[type eq "work" and value co "home"]',
  'emails[type eq "work"].value eq "anna@example.com"',
  'emails co "example.com" and not (emails.type eq "work")',
  `${ENTERPRISE}:department eq "r AND d"`,
  `${ENTERPRISE}:manager eq "7"`,
  'meta.resourceType eq "user"',
  'meta.created gt "2000-01-01T00:00:00Z"',
  'meta.lastModified lt "2000-01-01T00:00:00Z"',
  'id eq "x" or (userName sw "a" or (userName sw "b" and not (active eq true)))',
  'schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"',
];

describeWithWorld("lists over SCIM", (world) => {
  let directory: Directory;
  const people: Json[] = [];
  before(async () => {
    directory = await startDirectory(world);
    for (const person of PEOPLE) {
      people.push(await directory.user(person));
      world.clock.advance(10);
    }
  });

  async function names(path: string): Promise<string[]> {
    const { Resources } = await directory.must(200, "GET", path);
    return (Resources as { userName: string }[]).map(({ userName }) => userName);
  }

  for (const filter of FILTERS) {
    test(`the list contains the matching users: ${filter}`, async () => {
      const expected = people.filter((person) => matchesFilter(parseFilter(userType, filter), person)).map(({ userName }) => userName);
      const { totalResults, itemsPerPage, Resources } = await directory.must(200, "GET", filtered("/Users", filter));
      deepEqual(
        [(Resources as Json[]).map(({ userName }) => userName), totalResults, itemsPerPage],
        [expected, expected.length, expected.length],
      );
    });
  }

  test("a filter by meta.location compares the whole URL", async () => {
    const [anna] = people as { userName: string; meta: { location: string } }[];
    deepEqual(await names(filtered("/Users", `meta.location eq "${anna?.meta.location}"`)), [anna?.userName]);
    deepEqual(
      await names(filtered("/Users", `meta.location sw "${world.baseUrl}/"`)),
      people.map(({ userName }) => userName),
    );
  });

  describe("order and pages", () => {
    const byName = ["anna@example.com", "Bert@example.com", "carl%_!x@example.com", "dora", 'emil "the" \\ great'];
    test("a list is sorted by the requested attribute, and by creation time otherwise", async () => {
      deepEqual(await names("/Users"), byName);
      deepEqual(await names("/Users?sortBy=userName&sortOrder=descending"), byName.toReversed());
      deepEqual(await names("/Users?sortBy=meta.created&sortOrder=descending"), byName.toReversed());
    });
    test("resources without a value come last, and first in descending order", async () => {
      const order = ["anna@example.com", "Bert@example.com", "dora"];
      deepEqual((await names("/Users?sortBy=externalId")).slice(0, 3), order);
      deepEqual((await names("/Users?sortBy=externalId&sortOrder=descending")).slice(2), order.toReversed());
      deepEqual((await names("/Users?sortBy=title")).slice(3), ["carl%_!x@example.com", "dora"]);
      deepEqual((await names("/Users?sortBy=emails.value")).slice(0, 3), ["anna@example.com", "Bert@example.com", "dora"]);
    });
    test("a page begins at startIndex and has at most count resources", async () => {
      for (const path of ["/Users?", "/Users?sortBy=title&", `${filtered("/Users", "meta.version pr")}&`]) {
        const whole = await names(path);
        const { totalResults, startIndex, itemsPerPage, Resources } = await directory.must(200, "GET", `${path}startIndex=2&count=3`);
        deepEqual([totalResults, startIndex, itemsPerPage], [5, 2, 3]);
        deepEqual(
          (Resources as Json[]).map(({ userName }) => userName),
          whole.slice(1, 4),
        );
      }
    });
    test("an empty page has a total count", async () => {
      const none = await directory.must(200, "GET", "/Users?count=0");
      deepEqual([none.totalResults, none.itemsPerPage, none.Resources], [5, 0, []]);
      equal((await directory.must(200, "GET", "/Users?startIndex=99")).itemsPerPage, 0);
      equal((await directory.must(200, "GET", "/Users?startIndex=-3&count=-1")).totalResults, 5);
      equal((await directory.must(200, "GET", "/Users?startIndex=0&count=100000")).itemsPerPage, 5);
    });
    for (const query of ["startIndex=one", "count=1.5", "sortBy=colour", "sortBy=password", "sortBy=groups", "sortOrder=up"]) {
      test(`${query} is rejected`, async () => {
        const { status, body } = await directory.call("GET", `/Users?${query}`);
        deepEqual([status, body.scimType], [400, "invalidValue"]);
      });
    }
    test("a malformed filter is rejected with what is wrong", async () => {
      const { status, body } = await directory.call("GET", filtered("/Users", "userName eq"));
      deepEqual([status, body.scimType], [400, "invalidFilter"]);
      match(body.detail, /ends too early/);
    });
  });

  describe("searches by POST", () => {
    const schemas = ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"];
    test("a search by POST works for one resource type, as in the RFC", async () => {
      const request = { schemas, attributes: ["userName"], filter: 'userName sw "b"', startIndex: 1, count: 10 };
      const { Resources, totalResults } = await directory.must(200, "POST", "/Users/.search", request);
      deepEqual([totalResults, (Resources as Json[]).map(({ userName }) => userName)], [1, ["Bert@example.com"]]);
      deepEqual(Object.keys(Resources[0]), ["schemas", "id", "userName"]);
    });
    test("a search by POST over both resource types returns users before groups, across pages", async () => {
      await directory.group("anna's group");
      const all = await directory.must(200, "POST", "/.search", { schemas });
      deepEqual([all.totalResults, all.itemsPerPage, all.Resources[5].displayName], [6, 6, "anna's group"]);
      const last = await directory.must(200, "POST", "/.search", { schemas, startIndex: 5, count: 2 });
      deepEqual([last.Resources[0].userName, last.Resources[1].displayName], ['emil "the" \\ great', "anna's group"]);
      const one = await directory.must(200, "POST", "/.search", { schemas, startIndex: 6, count: 1 });
      equal(one.Resources[0].displayName, "anna's group");
      const found = await directory.must(200, "POST", "/.search", { schemas, filter: 'displayName sw "ANNA" or userName sw "anna"' });
      equal(found.totalResults, 1, "what no user can have is not searched among users' names");
      equal((await directory.must(200, "POST", "/.search", { schemas, filter: 'userName sw "anna"' })).totalResults, 1);
    });
    test("an invalid search by POST is rejected", async () => {
      equal((await directory.call("GET", "/Users/.search")).status, 405);
      equal((await directory.call("POST", "/Users/.search", { schemas, attributes: 5 })).status, 400);
      equal((await directory.call("POST", "/Users/.search", { schemas, filter: 5 })).status, 400);
    });
  });
});

describeWithWorld("a large directory", (world) => {
  let large: Directory;
  const COUNT = 25_000;
  before(async () => {
    large = await startDirectory(world);
    const { id } = await large.user({ userName: "model", title: "Model" });
    const row = await world.store.reader.selectFrom("scim_user").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    for (let begin = 1; begin < COUNT; begin += 1000) {
      const rows = Array.from({ length: Math.min(1000, COUNT - begin) }, (_, i) => {
        const name = `user-${String(begin + i).padStart(6, "0")}@example.com`;
        const body = JSON.stringify({ ...JSON.parse(row.body), userName: name, title: `T${begin + i}`, externalId: `e${begin + i}` });
        return { ...row, id: `id-${String(begin + i).padStart(6, "0")}`, external_id: `e${begin + i}`, user_name: name, body };
      });
      await world.store.transaction(async (db) => {
        for (let i = 0; i < rows.length; i += 100)
          await db
            .insertInto("scim_user")
            .values(rows.slice(i, i + 100))
            .execute();
      });
    }
  });

  test("a large directory can be read page by page, with each user once", async () => {
    const seen = new Set<string>();
    for (let startIndex = 1; startIndex <= 10_000; startIndex += 500) {
      const page = await large.must(200, "GET", `/Users?startIndex=${startIndex}&count=1000`);
      deepEqual([page.totalResults, page.itemsPerPage], [COUNT, 500]);
      for (const { id } of page.Resources as { id: string }[]) seen.add(id);
    }
    equal(seen.size, 10_000);
  });
  test("a large directory can be searched by attributes with columns", async () => {
    for (const filter of [
      'userName eq "USER-020000@example.com"',
      'externalId eq "e20000"',
      'id eq "id-020000"',
      'userName sw "user-02000" and userName ew "0@example.com"',
    ]) {
      const { totalResults, Resources } = await large.must(200, "GET", filtered("/Users", filter));
      deepEqual([totalResults, Resources[0].title], [1, "T20000"], filter);
    }
  });
  test("a large directory can be searched by other strings that the database can look for", async () => {
    const { totalResults, Resources } = await large.must(200, "GET", filtered("/Users", 'title eq "t20000" and active eq true'));
    deepEqual([totalResults, Resources[0].id], [1, "id-020000"]);
  });
  test("a large directory rejects filters and orders that need to scan too many users", async () => {
    for (const path of [filtered("/Users", 'title ne "x"'), filtered("/Users", "nickName pr"), "/Users?sortBy=title"]) {
      const { status, body } = await large.call("GET", path);
      deepEqual([status, body.scimType], [400, "tooMany"], path);
      match(body.detail, /username/);
    }
  });
  test("a directory uses at most half of the concurrent scans of large directories, and its other requests are served", async () => {
    const ask = () => Promise.all(Array.from({ length: 6 }, () => large.call("GET", filtered("/Users", "nickName pr"))));
    const isServed = ({ status }: { readonly status: number }) => status === 400;
    let answers = await ask();
    // A busy machine can serve a scan before the last of the requests has arrived, which then finds a free slot.
    for (let attempt = 1; attempt < 5 && answers.filter(isServed).length > 2; attempt++) answers = await ask();
    deepEqual(answers.map(({ status }) => status).sort(), [400, 400, 429, 429, 429, 429]);
    equal(answers.find(({ status }) => status === 429)?.headers["retry-after"], "1");
    equal((await large.call("GET", filtered("/Users", 'userName eq "model"'))).status, 200);
  });
  test("a large directory is deleted with its identity provider", async () => {
    const { id } = await large.group("everybody");
    const { reader } = world.store;
    const users = await reader.selectFrom("scim_user").select("id").where("idp_uid", "=", large.idpUid).limit(3000).execute();
    await world.store.transaction(async (db) => {
      for (let i = 0; i < users.length; i += 500) {
        const members = users.slice(i, i + 500).map((user) => ({ group_id: id, user_id: user.id }));
        await db.insertInto("scim_group_member").values(members).execute();
      }
    });
    equal((await large.must(200, "GET", `/Groups/${id}`)).members.length, 3000);
    equal((await world.raw("DELETE", `/iam/v2/identityProviders/${large.idpUid}`)).status, 200);
    deepEqual(await reader.selectFrom("scim_user").select("id").where("idp_uid", "=", large.idpUid).limit(1).execute(), []);
    deepEqual(await reader.selectFrom("scim_group_member").select("user_id").where("group_id", "=", id).limit(1).execute(), []);
    equal((await large.call("GET", "/Users")).status, 401);
  });
});
