/** Updates and deletions of advisories, and two advisories with the same identity. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { Advisories, type Advisory, AdvisorySchema } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { timestampFromDate } from "../../src/lib/clock.ts";
import { Code } from "../../src/lib/errors.ts";
import { base, createAdvisoryRequests, fixed, full } from "../harness/advisories/advisory-requests.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import { assertPrecondition, assertRefused } from "../harness/refusal.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const v1 = Advisories.method;

describeWithWorld("changes of advisories", (world: World) => {
  let group: string;
  before(async () => {
    await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
    group = await world.group(world.orgUid, "advisories");
  });
  const { make, post, put, postEvent, get } = createAdvisoryRequests(world, () => group);

  test("an update replaces the fields, keeps uid, advisory id, author and events, and changes no time if it changes nothing", async () => {
    const made = await make({ ...full, artifactName: "replaced", advisoryId: "KEEP-1", events: [{ type: fixed }] });
    world.clock.advance(1000);
    const same = await put(made.id, toJson(AdvisorySchema, made) as JsonObject);
    assert.deepEqual(
      JSON.parse(same.text),
      JSON.parse((await world.raw("GET", `/vulnerabilities/v1/advisories?id=${made.id}`)).text).items[0],
    );
    assert.equal((await get(made.id)).updateTime, (await get(made.id)).createTime);
    const answer = await put(made.id, {
      artifactType: "deb",
      artifactName: "renamed",
      aliases: ["CVE-1"],
      events: [],
      createdAt: "2000-01-01T00:00:00Z",
      id: "other",
    });
    assert.equal(answer.status, 200, answer.text);
    const after = (await world.must(v1.list, { id: made.id })).items[0] as Advisory;
    const { componentName: _n, componentType: _t, componentLocation: _l, legacyAdvisoryID: _i, ...kept } = made;
    assert.deepEqual(
      { ...after, updatedAt: undefined, componentName: "", componentType: "", componentLocation: "" },
      {
        ...kept,
        artifactType: "deb",
        artifactName: "renamed",
        artifactArchitecture: "",
        aliases: ["CVE-1"],
        componentName: "",
        componentType: "",
        componentLocation: "",
        updatedAt: undefined,
      },
    );
    assert.deepEqual(after.updatedAt, timestampFromDate(world.clock.now()));
    const found = async (query: string) =>
      JSON.parse((await world.raw("GET", `/vulnerabilities/v2/advisories?uidp.ids=${made.id}&${query}`)).text).totalCount;
    assert.deepEqual(
      await Promise.all(["aliases=CVE-1", "aliases=CVE-2024-0001", "query=renam", "query=replaced", "artifactTypes=apk"].map(found)),
      ["1", "0", "1", "0", "0"],
    );
  });

  test("a deleted advisory is in no list, is returned by Get, and cannot be changed", async () => {
    const made = await make({ ...full, artifactName: "deleted", advisoryId: "DEL-1", events: [{ type: fixed }] });
    const remove = () => world.raw("DELETE", `/vulnerabilities/v1/advisories/${made.id}`);
    world.clock.advance(1000);
    assert.deepEqual(
      [await remove(), JSON.parse((await remove()).text)].map((answer) => answer.text ?? answer),
      ["{}", {}],
    );
    const { deleteTime, updateTime } = await get(made.id);
    assert.equal(deleteTime, world.clock.now().toISOString());
    assert.equal(updateTime, deleteTime);
    world.clock.advance(1000);
    assert.equal((await remove()).status, 200);
    assert.equal((await get(made.id)).deleteTime, deleteTime);
    for (const query of ["artifactNames=deleted", "query=deleted", "advisoryIds=DEL-1", `uidp.ids=${made.id}`]) {
      const { advisories, totalCount } = JSON.parse((await world.raw("GET", `/vulnerabilities/v2/advisories?${query}`)).text);
      assert.deepEqual([advisories, totalCount], [[], "0"], query);
    }
    const event = made.events[0]?.id ?? "";
    const refusals = [
      put(made.id, base),
      postEvent(made.id, { fixed: { fixedVersion: "1" } }),
      world.raw("PUT", `/vulnerabilities/v1/advisory_events/${event}`, { issue: "x" }),
    ];
    for (const answer of await Promise.all(refusals))
      assertPrecondition(answer, "ADVISORY_DELETED", "the advisory is deleted and cannot be changed");
    assert.equal((await world.must(v1.listAdvisoryEvents, { parentId: made.id })).items.length, 1);
  });

  test("a group cannot have two live advisories with the same identity, and a deleted one is replaced", async () => {
    const about = { ...full, advisoryId: "ONE-1", artifactName: "once" };
    const first = await make(about);
    const { details } = assertRefused(await post({ ...about, aliases: [] }), Code.ALREADY_EXISTS);
    assert.deepEqual([details[1]?.resourceType, details[1]?.resourceName], ["vulnerabilities.holt.dev/Advisory", first.id]);
    const other = await make({ ...about, artifactArchitecture: "aarch64" });
    assertRefused(await put(other.id, { ...about, events: [] }), Code.ALREADY_EXISTS);
    await make(about, await world.group(group, "elsewhere"));
    await world.must(v1.delete, { id: first.id });
    const second = await make(about);
    await world.must(v1.delete, { id: second.id });
    await make(about);
    assert.equal((await get(first.id)).uid, first.id);
  });

  test("exactly one of many concurrent creations of the same advisory succeeds", async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => post({ ...base, advisoryId: "RACE-1" })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer, Code.ALREADY_EXISTS);
  });

  test("a group with live advisories cannot be deleted, and deleting a group deletes its deleted advisories", async () => {
    const folder = await world.group(group, "to delete");
    const { id } = await make({ ...full, events: [{ type: fixed }] }, folder);
    const remove = () => world.raw("DELETE", `/iam/v2/groups/${folder}`);
    assertPrecondition(await remove(), "RESOURCE_NOT_EMPTY", "cannot delete group with child resources");
    await world.must(v1.delete, { id });
    assert.equal((await remove()).status, 200);
    for (const table of ["advisory_alias", "advisory_term"] as const)
      assert.deepEqual(await world.store.reader.selectFrom(table).select("advisory_uid").where("advisory_uid", "=", id).execute(), []);
    for (const table of ["advisory_count", "advisory_people_count"] as const)
      assert.deepEqual(await world.store.reader.selectFrom(table).select("group_uid").where("group_uid", "=", folder).execute(), []);
  });
});
