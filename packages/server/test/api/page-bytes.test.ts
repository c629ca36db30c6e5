/** Pages end early where their rows are large, and their page tokens continue at the next row. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { RoleBindingsService } from "@holt/api/gen/platform/iam/v2/role_bindings_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { putAdvisories } from "../harness/advisories/advisories.ts";
import { answerOf } from "../harness/clients.ts";
import { describeWithWorld } from "../harness/world.ts";

const MAX_PAGE_BYTES = 1024 * 1024;
const REPOS = 40;
/** Bodies of about 60 kB. */
const LARGE = Array.from({ length: 450 }, (_, i) => String(i).padStart(128, "t"));

describeWithWorld("pages of large rows", (world) => {
  let group: string;
  let uids: string[];
  before(async () => {
    group = await world.group(world.orgUid);
    const create = (repo: { name: string; activeTags?: string[] }) => world.must(ReposService.method.createRepo, { parent: group, repo });
    const made: Repo[] = [];
    for (let i = 0; i < REPOS; i++) {
      made.push(await create({ name: `large-${String(i).padStart(2, "0")}`, activeTags: LARGE }));
      made.push(await create({ name: `small-${String(i).padStart(2, "0")}` }));
    }
    uids = made.map(({ uid }) => uid).sort();
  });

  for (const orderBy of ["uid", "name", "name desc", "create_time desc"]) {
    test(`every page ordered by ${orderBy} has less than 1 MiB, and all pages together have every row once`, async () => {
      for (const client of world.clients) {
        const seen: string[] = [];
        let pages = 0;
        for (let pageToken = ""; ; pages++) {
          const request = { uidp: { childrenOf: group }, orderBy, pageSize: 200, pageToken };
          const page = answerOf(await client.call(ReposService.method.listRepos, request, world.token));
          assert.ok(bytesOf(page.repos) <= MAX_PAGE_BYTES, `${bytesOf(page.repos)} bytes`);
          assert.ok(page.repos.length > 0);
          assert.equal(page.totalCount, BigInt(uids.length));
          seen.push(...page.repos.map(({ uid }) => uid));
          pageToken = page.nextPageToken;
          if (pageToken === "") break;
        }
        assert.ok(pages >= 2, "the rows need more than two pages");
        assert.deepEqual(seen.toSorted(), uids);
        assert.equal(new Set(seen).size, seen.length);
      }
    });
  }

  test("a page after a far skip, which is read from the end of the list, ends early too", async () => {
    const list = (pageToken: string, skip: number) =>
      world.must(ReposService.method.listRepos, { uidp: { childrenOf: group }, orderBy: "name desc", pageSize: 200, pageToken, skip });
    const far = await list("", 41);
    assert.equal(far.repos[0]?.name, "large-38");
    assert.ok(far.repos.length < 20, `${far.repos.length} rows`);
    const next = await list(far.nextPageToken, 0);
    assert.equal(next.repos[0]?.name, `large-${38 - far.repos.length}`);
  });

  test("a page of bindings ends early where the names of their roles and groups are large", async () => {
    const description = "d".repeat(4_000);
    const parent = (await world.must(GroupsService.method.createGroup, { parent: world.orgUid, group: { name: "large", description } }))
      .uid;
    const robot = await world.robot(parent);
    const created: string[] = [];
    for (let i = 0; i < 140; i++) {
      const role = { name: `role-${i}`, description, capabilities: [Capability.CAP_IAM_GROUPS_LIST] };
      const { uid } = await world.must(RolesService.method.createRole, { parent, role });
      created.push(await world.bind(robot.uid, uid, parent));
    }
    const first = await world.must(RoleBindingsService.method.listRoleBindings, { uidp: { childrenOf: parent }, pageSize: 200 });
    assert.ok(bytesOf(first.roleBindings) <= 1.2 * MAX_PAGE_BYTES, `${bytesOf(first.roleBindings)} bytes`);
    const request = { uidp: { childrenOf: parent }, pageSize: 200, pageToken: first.nextPageToken };
    const second = await world.must(RoleBindingsService.method.listRoleBindings, request);
    assert.equal(second.nextPageToken, "");
    assert.deepEqual([...first.roleBindings, ...second.roleBindings].map(({ uid }) => uid).sort(), created.sort());
  });

  test("pages of advisories end early in both versions of the API", async () => {
    const parent = await world.group(world.orgUid);
    const note = "n".repeat(60_000);
    const type = { case: "falsePositiveDetermination", value: { note } } as const;
    const events = [{ time: "2026-01-01T00:00:00.000Z", type }];
    const created = await putAdvisories(
      world.store,
      Array.from({ length: 30 }, (_, i) => ({ parent, id: `ADV-${i}`, name: `package-${i}`, events })),
    );
    const v1: string[] = [];
    const v2: string[] = [];
    for (let pageToken = ""; ; ) {
      const page = await world.must(Advisories.method.list, { uidp: { childrenOf: parent }, pageSize: 200n, pageToken });
      assert.ok(page.items.length < 20, `${page.items.length} rows`);
      v1.push(...page.items.map(({ id }) => id));
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    for (let pageToken = ""; ; ) {
      const page = await world.must(AdvisoriesService.method.listAdvisories, { uidp: { childrenOf: parent }, pageSize: 200, pageToken });
      assert.ok(page.advisories.length < 20, `${page.advisories.length} rows`);
      assert.equal(page.totalCount, 30n);
      v2.push(...page.advisories.map(({ uid }) => uid));
      pageToken = page.nextPageToken;
      if (pageToken === "") break;
    }
    assert.deepEqual(v1.toSorted(), created.toSorted());
    assert.deepEqual(v2.toSorted(), created.toSorted());
  });
});

function bytesOf(rows: readonly object[]): number {
  return Buffer.byteLength(JSON.stringify(rows, (_key, value) => (typeof value === "bigint" ? String(value) : value)));
}
