/** Filters that callers save for themselves. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { SavedFiltersService } from "@holt/api/gen/holt/v1/saved_filters_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { errorOf } from "../harness/clients.ts";
import { describeWithWorld } from "../harness/world.ts";

const { listSavedFilters, saveFilter, deleteSavedFilter } = SavedFiltersService.method;

describeWithWorld("saved filters", (world) => {
  const list = "advisories";
  const queries = async (token?: string) => {
    const { savedFilters } = await world.must(listSavedFilters, { uid: world.orgUid, list }, token);
    return savedFilters.map(({ name, query }) => [name, query]);
  };
  const save = (name: string, query: string, token?: string) =>
    world.must(saveFilter, { uid: world.orgUid, list, savedFilter: { name, query } }, token);

  it("a saved filter is listed for its owner only, replaced by its name, and deleted", async () => {
    const other = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
    await save("open", "state=open");
    await save("Ältere <b>", "");
    await save("open", "state=open&order=name+desc");
    await save("other", "x=y", other.token);
    assert.deepEqual(await queries(), [
      ["open", "state=open&order=name+desc"],
      ["Ältere <b>", ""],
    ]);
    assert.deepEqual(await queries(other.token), [["other", "x=y"]]);
    assert.deepEqual((await world.must(listSavedFilters, { uid: world.orgUid, list: "images" })).savedFilters, []);
    for (const name of ["open", "Ältere <b>", "unknown"]) await world.must(deleteSavedFilter, { uid: world.orgUid, list, name });
    assert.deepEqual(await queries(), []);
    assert.deepEqual(await queries(other.token), [["other", "x=y"]]);
  });

  it("saved filters are bounded in number and size, and belong to organizations", async () => {
    for (let number = 0; number < 100; number++) await save(`filter-${number}`, "");
    const request = (name: string, changes = {}) => ({ uid: world.orgUid, list, savedFilter: { name, query: "" }, ...changes });
    const codeOf = async (body: object) => errorOf(await world.rest.call(saveFilter, body, world.owner.token)).code;
    assert.equal(await codeOf(request("one-more")), Code.RESOURCE_EXHAUSTED);
    await save("filter-1", "changed=yes");
    assert.equal(await codeOf(request("filter-1", { savedFilter: { name: "filter-1", query: "x".repeat(2001) } })), Code.INVALID_ARGUMENT);
    assert.equal(await codeOf(request("x".repeat(101))), Code.INVALID_ARGUMENT);
    assert.equal(await codeOf(request("")), Code.INVALID_ARGUMENT);
    assert.equal(await codeOf(request("filter-1", { list: "No list" })), Code.INVALID_ARGUMENT);
    assert.equal(await codeOf(request("filter-1", { uid: await world.group(world.orgUid) })), Code.INVALID_ARGUMENT);
  });

  it("an organization with saved filters can be deleted", async () => {
    const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: "short-lived" } });
    await world.must(saveFilter, { uid, list, savedFilter: { name: "open", query: "" } });
    await world.must(GroupsService.method.deleteGroup, { uid });
  });

  it("no filter is left of an organization that is deleted while filters are saved", async () => {
    for (let round = 0; round < 10; round++) {
      const { uid } = await world.must(GroupsService.method.createGroup, { group: { name: `short-lived-${round}` } });
      const saveUntilGone = async (name: string): Promise<void> => {
        while ((await world.rest.call(saveFilter, { uid, list, savedFilter: { name, query: "" } }, world.owner.token)).ok);
      };
      await Promise.all([...["one", "two", "three"].map(saveUntilGone), world.must(GroupsService.method.deleteGroup, { uid })]);
      const left = world.store.reader.selectFrom("saved_filter").select("name").where("org_uid", "=", uid);
      assert.deepEqual(await left.execute(), []);
    }
  });
});
