import assert from "node:assert/strict";
import { it, test } from "node:test";
import type { JsonObject } from "@bufbuild/protobuf";
import { Metadata } from "@grpc/grpc-js";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Group, Groups } from "@holt/api/gen/platform/iam/v1/groups_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Code } from "../../src/lib/errors.ts";
import { answerOf, codeOf, errorOf } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import { GrpcClient } from "../harness/raw-clients.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

describeWithWorld("groups of version 1", (world) => {
  const path = "/iam/v1/groups";
  const list = async (query = "", token?: string) =>
    parse((await world.raw("GET", `${path}?${query}`, undefined, token)).text).items as JsonObject[];

  it("a group created by version 1 is complete in version 2, and the other way round", async () => {
    const answer = await world.raw("POST", `${path}/${world.orgUid}`, { name: "one", description: "First “é”\n line" });
    assert.equal(answer.status, 200, answer.text);
    const { id, ...rest } = parse(answer.text);
    assert.deepEqual(rest, {
      name: "one",
      description: "First “é”\n line",
      resourceLimits: {},
      verified: false,
      kind: "ORG_KIND_UNSPECIFIED",
      status: "ORG_STATUS_UNSPECIFIED",
    });
    const v2 = parse((await world.raw("GET", `/iam/v2/groups/${textOf(id)}`)).text);
    assert.deepEqual([v2.uid, v2.name, v2.description], [id, "one", "First “é”\n line"]);
    assert.deepEqual(await list(`id=${textOf(id)}`), [parse(answer.text)]);

    const uid = await world.group(world.orgUid, "two");
    const [shown] = await list(`id=${uid}`);
    assert.deepEqual([shown?.id, shown?.name], [uid, "two"]);
  });

  it("an organization is listed by its id in the first call after it was created", async () => {
    const newcomer = await world.user();
    for (const client of [world.rest, world.grpc]) {
      const { id } = answerOf(await client.call(Groups.method.create, { group: { name: "mine" } }, newcomer.token));
      const { items } = answerOf(await client.call(Groups.method.list, { id }, newcomer.token));
      assert.deepEqual(
        items.map((group) => group.id),
        [id],
      );
    }
  });

  it("a list without a filter has ancestors before descendants, and nothing above or beside the caller's groups", async () => {
    const top = await world.group(world.orgUid, "top");
    const low = await world.group(await world.group(top, "middle"), "low");
    const beside = await world.group(world.orgUid, "beside");
    const robot = await world.robot(top, [Capability.CAP_IAM_GROUPS_LIST]);
    for (const client of [world.rest, world.grpc]) {
      const ids = answerOf(await client.call(Groups.method.list, {}, robot.token)).items.map((group) => group.id);
      assert.deepEqual([ids.length, ids[0], ids[2]], [3, top, low]);
      assert.deepEqual(answerOf(await client.call(Groups.method.list, { id: beside }, robot.token)).items, []);
    }
  });

  it("lists have all rows of all pages in the order of version 2", async () => {
    const parent = await world.group(world.orgUid, "many");
    for (let i = 0; i < 203; i++) await world.group(parent, `group ${i}`);
    const ids = (await list(`uidp.childrenOf=${parent}`)).map((group) => group.id);
    const v2 = await world.must(GroupsService.method.listGroups, { uidp: { childrenOf: parent }, pageSize: 200 });
    assert.equal(ids.length, 203);
    assert.deepEqual(
      ids.slice(0, 200),
      v2.groups.map((group) => group.uid),
    );
  });

  it("lists combine the filters, and unknown values find nothing", async () => {
    const parent = await world.group(world.orgUid, "filters");
    const [a, b] = [await world.group(parent, "same"), await world.group(parent, "other")];
    const ids = async (query: string) => (await list(query)).map((group) => group.id);
    assert.deepEqual(await ids(`name=same&uidp.descendants_of=${parent}`), [a]);
    assert.deepEqual(await ids(`id=${a}&uidp.ids=${a}&uidp.ids=${b}`), [a]);
    assert.deepEqual(await ids(`id=${a}&uidp.ids=${b}`), []);
    assert.deepEqual(await ids(`uidp.ancestorsOf=${b}&uidp.descendantsOf=${world.orgUid}`), [parent]);
    for (const query of ["id=nonsense", `id=${parent}/0123456789abcdef`, "name=%00", "uidp.childrenOf=x"])
      assert.deepEqual(await ids(query), []);
    await world.raw("DELETE", `/iam/v1/groups/${b}`);
    assert.deepEqual(await ids(`uidp.childrenOf=${b}`), []);
  });

  it("an update replaces the fields that version 1 has", async () => {
    const uid = await world.group(world.orgUid, "before");
    const renamed = await world.raw("PUT", `${path}/${uid}`, { name: "after", description: "new" });
    assert.equal(parse(renamed.text).description, "new");
    assert.equal(parse((await world.raw("PUT", `${path}/${uid}`, { name: "after" })).text).description, "");
    assert.equal((await world.raw("PUT", `${path}/${uid}`, { description: "no name" })).status, 400);
  });

  it("an update without kind and verified keeps both of a verified organization", async () => {
    const uid = await world.group("", "verified.example.com");
    await world.must(GroupsService.method.updateGroup, {
      group: { uid, verified: true, kind: 2 },
      updateMask: { paths: ["verified", "kind"] },
    });
    const answer = await world.raw("PUT", `${path}/${uid}`, { name: "verified.example.com", description: "d" });
    const { kind, status, verified, description } = parse(answer.text);
    assert.deepEqual([kind, status, verified, description], ["ORG_KIND_CUSTOMER", "ORG_STATUS_READY", true, "d"]);
  });

  it("a delete answers {} over REST, and a missing group is not found", async () => {
    const uid = await world.group(world.orgUid, "gone");
    const answer = await world.raw("DELETE", `${path}/${uid}`);
    assert.deepEqual([answer.status, answer.text], [200, "{}"]);
    for (const client of [world.rest, world.grpc]) {
      const error = errorOf(await client.call(Groups.method.delete, { id: uid }, world.owner.token));
      assert.equal(error.code, Code.NOT_FOUND);
      assert.match(JSON.stringify(error.details), /Group/);
      assert.equal(codeOf(await client.call(Groups.method.update, { id: uid, name: "x" }, world.owner.token)), Code.NOT_FOUND);
    }
  });
});

test("a vendor profile gives the services of version 1 names that contain no version", async () => {
  await using world = await startWorld({ env: { HOLT_VENDOR_PROFILE: "chainguard" } });
  using client = new GrpcClient(Number(new URL(world.baseUrl).port));
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${world.owner.token}`);
  const options = { service: "chainguard.platform.iam.Groups", metadata };
  const { id } = await client.call(Groups.method.create, { parent: world.orgUid, group: { name: "of a vendor" } }, options);
  const { items } = await client.call(Groups.method.list, { id: id as string }, options);
  assert.deepEqual(
    (items as Group[]).map(({ name }) => name),
    ["of a vendor"],
  );
});
