/** Tests groups over SCIM and their members. */
import { deepEqual, equal, match } from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type Directory, filtered, GROUP, type Json, patch, startDirectory } from "../harness/scim/directory.ts";
import { describeWithWorld } from "../harness/world.ts";

describeWithWorld("groups over SCIM", (world) => {
  let directory: Directory;
  let ids: string[];
  before(async () => {
    directory = await startDirectory(world);
    ids = [];
    for (let i = 0; i < 5; i++) ids.push((await directory.user()).id);
    ids.sort();
  });

  const id = (i: number) => ids[i] as string;
  const refs = (...of: number[]) => of.map((i) => ({ value: id(i) }));

  async function membersOf(groupId: string): Promise<number[]> {
    const { members = [] } = await directory.must(200, "GET", `/Groups/${groupId}`);
    return (members as { value: string }[]).map(({ value }) => ids.indexOf(value)).sort();
  }

  async function patched(groupId: string, ...operations: unknown[]): Promise<number[]> {
    await directory.must(204, "PATCH", `/Groups/${groupId}`, patch(...operations));
    return membersOf(groupId);
  }

  test("a group is created with members, whose groups list it", async () => {
    const request = {
      schemas: [GROUP],
      displayName: "Tour Guides",
      externalId: "ext",
      members: [{ ...refs(0)[0], display: "Babs", $ref: "x" }],
    };
    const { status, headers, body } = await directory.call("POST", "/Groups", request);
    equal(status, 201);
    const location = `${world.baseUrl}${directory.path}/Groups/${body.id}`;
    deepEqual([headers.location, body.meta.location, body.meta.resourceType], [location, location, "Group"]);
    const members = [{ value: id(0), $ref: `${world.baseUrl}${directory.path}/Users/${id(0)}`, type: "User" }];
    deepEqual(body, { schemas: [GROUP], id: body.id, displayName: "Tour Guides", externalId: "ext", members, meta: body.meta });
    const user = await directory.must(200, "GET", `/Users/${id(0)}`);
    deepEqual(user.groups, [{ value: body.id, $ref: location, display: "Tour Guides", type: "direct" }]);
    const { meta, members: _, ...rest } = body;
    deepEqual(await directory.must(200, "GET", `/Groups/${body.id}?excludedAttributes=members,meta`), rest);
    equal(meta.version, 'W/"1"');
    await directory.must(204, "DELETE", `/Groups/${body.id}`);
    equal((await directory.must(200, "GET", `/Users/${id(0)}`)).groups, undefined);
  });

  test("members are added and removed by every form of request", async () => {
    const group = (await directory.group("ways", [id(0)])).id;
    deepEqual(await patched(group, { op: "add", path: "members", value: refs(1, 2) }), [0, 1, 2]);
    deepEqual(await patched(group, { op: "add", path: "members", value: refs(3)[0] }), [0, 1, 2, 3], "one, not in a list");
    deepEqual(await patched(group, { op: "add", value: { members: refs(4) } }), [0, 1, 2, 3, 4], "without a path");
    deepEqual(await patched(group, { op: "add", path: "members", value: refs(4) }), [0, 1, 2, 3, 4], "again");
    deepEqual(await patched(group, { op: "remove", path: `members[value eq "${id(0)}"]` }), [1, 2, 3, 4]);
    deepEqual(await patched(group, { op: "remove", path: "members", value: refs(1) }), [2, 3, 4], "as Entra ID says it");
    deepEqual(await patched(group, { op: "remove", path: `members[value eq "${id(2)}" or value eq "${id(3)}"]` }), [4]);
    deepEqual(await patched(group, { op: "replace", path: "members", value: refs(0, 1) }), [0, 1]);
    deepEqual(await patched(group, { op: "remove", path: `members[not (value eq "${id(0)}")]` }), [0]);
    deepEqual(await patched(group, { op: "remove", path: "members", value: refs(2) }), [0], "nobody who is in it");
    deepEqual(await patched(group, { op: "remove", path: 'members[type eq "User"]' }), []);
    deepEqual(
      await patched(
        group,
        { op: "add", path: "members", value: refs(0) },
        { op: "replace", path: "members", value: refs(1) },
        { op: "add", path: "members", value: refs(2) },
        { op: "remove", path: `members[value eq "${id(1)}"]` },
      ),
      [2],
      "in order",
    );
    deepEqual(await patched(group, { op: "remove", path: "members" }), []);
  });

  test("a request without effect keeps the version, and a change of members does not", async () => {
    const group = (await directory.group("versions", [id(0)])).id;
    await directory.must(204, "PATCH", `/Groups/${group}`, patch({ op: "add", path: "members", value: refs(0) }));
    equal((await directory.must(200, "GET", `/Groups/${group}`)).meta.version, 'W/"1"');
    const { headers } = await directory.call("PATCH", `/Groups/${group}`, patch({ op: "add", path: "members", value: refs(1) }), {
      "if-match": 'W/"1"',
    });
    equal(headers.etag, 'W/"2"');
    equal(
      (await directory.call("PATCH", `/Groups/${group}`, patch({ op: "remove", path: "members" }), { "if-match": 'W/"1"' })).status,
      412,
    );
  });

  test("a group is renamed together with a change of members, and returned if requested", async () => {
    const group = (await directory.group("old", [id(0)])).id;
    const body = patch({ op: "replace", value: { id: group, displayName: "new" } }, { op: "add", path: "members", value: refs(1) });
    const answer = await directory.must(200, "PATCH", `/Groups/${group}?attributes=displayName,members.value`, body);
    deepEqual([answer.displayName, answer.members.length, answer.meta], ["new", 2, undefined]);
    const replaced = await directory.must(200, "PUT", `/Groups/${group}`, { schemas: [GROUP], displayName: "newer", members: refs(2, 3) });
    deepEqual([replaced.displayName, replaced.members.map((each: { value: string }) => each.value)], ["newer", [id(2), id(3)]]);
    equal((await directory.must(200, "PUT", `/Groups/${group}`, { displayName: "newest" })).members, undefined);
  });

  test("groups are found by name, external id and members", async () => {
    const a = await directory.group("Found A", [id(0), id(1)], { externalId: "found-a" });
    world.clock.advance(10);
    const b = await directory.group("Found B", [id(1)]);
    const found = async (filter: string) =>
      (await directory.must(200, "GET", filtered("/Groups", filter, "&excludedAttributes=members"))).Resources.map(
        (each: Json) => each.displayName,
      );
    deepEqual(await found('displayName eq "FOUND a"'), ["Found A"]);
    deepEqual(await found('externalId eq "found-a"'), ["Found A"]);
    deepEqual(await found(`displayName sw "found" and members.value eq "${id(1)}"`), ["Found A", "Found B"]);
    deepEqual(await found(`members[value eq "${id(0)}"] and displayName sw "found"`), ["Found A"]);
    deepEqual(await found(`id eq "${a.id}" and members eq "${id(0)}"`), ["Found A"]);
    deepEqual(await found(`id eq "${b.id}" and members eq "${id(0)}"`), []);
    deepEqual(await found(`id eq "${b.id}" and not (members eq "${id(0)}")`), ["Found B"]);
    deepEqual(await found('displayName sw "found" and not (members pr)'), []);
    const users = await directory.must(200, "GET", filtered("/Users", `groups.value eq "${a.id}"`));
    equal(users.totalResults, 2);
    equal((await directory.call("GET", filtered("/Groups", 'members.display co "x"'))).body.scimType, "invalidFilter");
  });

  test("a list of groups contains members unless they are excluded", async () => {
    const page = await directory.must(200, "GET", filtered("/Groups", 'displayName eq "Found A"'));
    equal(page.Resources[0].members.length, 2);
    deepEqual(Object.keys((await directory.must(200, "GET", "/Groups?attributes=displayName")).Resources[0]), [
      "schemas",
      "id",
      "displayName",
    ]);
  });

  test("a deleted user is not in any group", async () => {
    const user = await directory.user({ externalId: "member-who-leaves" });
    const group = (await directory.group("left", [user.id])).id;
    await directory.must(204, "DELETE", `/Users/${user.id}`);
    deepEqual(await membersOf(group), []);
    equal(
      (await directory.call("PATCH", `/Groups/${group}`, patch({ op: "add", path: "members", value: [{ value: user.id }] }))).status,
      400,
    );
  });

  describe("invalid group requests", () => {
    let group: string;
    before(async () => {
      group = (await directory.group("refusals", [id(0)])).id;
    });
    async function refused(status: number, scimType: string | undefined, ...operations: unknown[]) {
      const answer = await directory.call("PATCH", `/Groups/${group}`, patch(...operations));
      deepEqual([answer.status, answer.body?.scimType], [status, scimType], JSON.stringify(operations).slice(0, 200));
      return answer.body.detail as string;
    }
    test("a request with an unknown member is rejected as a whole", async () => {
      match(
        await refused(
          400,
          "invalidValue",
          { op: "add", path: "members", value: refs(1) },
          { op: "add", path: "members", value: [{ value: "nobody" }] },
        ),
        /no user/,
      );
      deepEqual(await membersOf(group), [0]);
    });
    test("a group cannot be a member of a group", async () => {
      const other = (await directory.group("inner")).id;
      match(await refused(400, "invalidValue", { op: "add", path: "members", value: [{ value: other }] }), /member of a group/);
      match(
        await refused(400, "invalidValue", { op: "add", path: "members", value: [{ value: other, type: "Group" }] }),
        /member of a group/,
      );
    });
    test("members without an id, changed members and unsupported filters are rejected", async () => {
      await refused(400, "invalidValue", { op: "add", path: "members", value: [{}] });
      await refused(400, "invalidValue", { op: "add", path: "members", value: [{ value: "a\0b" }] });
      await refused(400, "invalidPath", { op: "replace", path: `members[value eq "${id(0)}"]`, value: refs(1)[0] });
      await refused(400, "mutability", { op: "replace", path: `members[value eq "${id(0)}"].value`, value: id(1) });
      await refused(400, "invalidFilter", { op: "remove", path: "members[colour eq 1]" });
      await refused(400, "invalidValue", { op: "replace", path: "displayName", value: "" });
    });
    test("too many operations or members in one request are rejected", async () => {
      match(await refused(413, undefined, ...Array(1001).fill({ op: "remove", path: "members" })), /1000/);
      match(await refused(413, undefined, ...Array(11).fill({ op: "remove", path: 'members[type eq "User"]' })), /filters/);
      match(
        await refused(413, undefined, {
          op: "add",
          path: "members",
          value: Array.from({ length: 5001 }, (_, i) => ({ value: String(i) })),
        }),
        /5000/,
      );
      equal(
        (
          await directory.call("POST", "/Groups", {
            displayName: "many",
            members: Array.from({ length: 5001 }, (_, i) => ({ value: String(i) })),
          })
        ).status,
        413,
      );
    });
    test("a group without a name is rejected", async () => {
      equal((await directory.call("POST", "/Groups", { schemas: [GROUP] })).body.scimType, "invalidValue");
    });
  });

  test("concurrent additions of members to one group are all kept", async () => {
    const group = (await directory.group("crowd")).id;
    const crowd = await Promise.all(Array.from({ length: 20 }, () => directory.user()));
    const answers = await Promise.all(
      crowd.map((user) => directory.call("PATCH", `/Groups/${group}`, patch({ op: "Add", path: "members", value: [{ value: user.id }] }))),
    );
    deepEqual(new Set(answers.map(({ status }) => status)), new Set([204]));
    const { members, meta } = await directory.must(200, "GET", `/Groups/${group}`);
    deepEqual(new Set(members.map((each: { value: string }) => each.value)), new Set(crowd.map((user) => user.id)));
    equal(meta.version, 'W/"21"');
    await Promise.all([
      ...crowd.slice(0, 5).map((user) => directory.must(204, "DELETE", `/Users/${user.id}`)),
      ...crowd
        .slice(5, 15)
        .map((user) => directory.must(204, "PATCH", `/Groups/${group}`, patch({ op: "remove", path: `members[value eq "${user.id}"]` }))),
    ]);
    equal((await directory.must(200, "GET", `/Groups/${group}`)).members.length, 5);
  });
});
