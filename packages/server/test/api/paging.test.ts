/** Pages of a list are complete while rows come and go, and page sizes and page tokens have their limits. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { answerOf } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import { parse } from "../harness/json.ts";
import { describeWithWorld, startWorld } from "../harness/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const STAYING = 24;
const ORDERS = ["uid", "uid desc", "name", "name desc", "create_time", "create_time desc", "update_time desc"];

describeWithWorld("pages", (world) => {
  /** Creates rows that stay among rows that will be deleted. Names repeat. */
  async function makeRows(): Promise<{ group: string; staying: string[]; leaving: string[] }> {
    const group = await world.group(world.orgUid);
    const staying: string[] = [];
    const leaving: string[] = [];
    for (let moment = 0; moment < 4; moment++) {
      world.clock.advance(1000);
      const make = () => Promise.all(Array.from({ length: STAYING / 4 }, (_, i) => world.group(group, `n${i % 3}`)));
      staying.push(...(await make()));
      leaving.push(...(await make()));
    }
    return { group, staying, leaving };
  }

  async function* pagesOf(group: string, orderBy: string): AsyncGenerator<string[]> {
    for (let pageToken = ""; ; ) {
      const request = { uidp: { childrenOf: group }, orderBy, pageSize: 5, pageToken };
      const { groups, nextPageToken } = await world.must(GroupsService.method.listGroups, request);
      yield groups.map(({ uid }) => uid);
      if (nextPageToken === "") return;
      pageToken = nextPageToken;
    }
  }

  const remove = (uid: string) => world.must(GroupsService.method.deleteGroup, { uid });

  function assertEachOnce(seen: readonly string[], staying: readonly string[], orderBy: string): void {
    assert.equal(new Set(seen).size, seen.length, `${orderBy}: a row appeared twice`);
    const missed = staying.filter((uid) => !seen.includes(uid));
    assert.deepEqual(missed, [], `${orderBy}: remaining rows were missed`);
  }

  for (const orderBy of ORDERS) {
    test(`pages ordered by ${orderBy} contain every remaining row once although the last row of each page is deleted`, async () => {
      const { group, staying, leaving } = await makeRows();
      const seen: string[] = [];
      for await (const page of pagesOf(group, orderBy)) {
        seen.push(...page);
        const last = page.findLast((uid) => leaving.includes(uid));
        const next = leaving.find((uid) => !seen.includes(uid));
        for (const uid of new Set([last, next])) {
          if (uid === undefined) continue;
          leaving.splice(leaving.indexOf(uid), 1);
          await remove(uid);
        }
        // In most orders at least one of them comes before the last row of the page, and one after it.
        if (seen.length < 40) await Promise.all(["a", "n1", "z"].map((name) => world.group(group, name)));
      }
      assertEachOnce(seen, staying, orderBy);
    });
  }

  test("pages contain every remaining row once while other rows are created and deleted", async () => {
    const { group, staying, leaving } = await makeRows();
    let reading = true;
    const write = async () => {
      for (let i = 0; reading; i++) {
        const made = await world.group(group, `n${i % 3}`);
        await remove(leaving.shift() ?? made);
      }
    };
    const writers = [write(), write()];
    try {
      for (const orderBy of ORDERS.flatMap((order) => [order, order])) {
        const seen: string[] = [];
        for await (const page of pagesOf(group, orderBy)) seen.push(...page);
        assertEachOnce(seen, staying, orderBy);
      }
    } finally {
      reading = false;
      await Promise.all(writers);
    }
  });

  test("a page has 50 rows by default and never more than 200", async () => {
    const group = await world.group(world.orgUid);
    await Promise.all(Array.from({ length: 205 }, (_, i) => world.group(group, `g${i}`)));
    for (const client of [world.rest, world.grpc]) {
      const length = async (pageSize: number) => {
        const request = { uidp: { childrenOf: group }, pageSize };
        return answerOf(await client.call(GroupsService.method.listGroups, request, world.owner.token)).groups.length;
      };
      assert.deepEqual(
        [await length(0), await length(1), await length(200), await length(201), await length(2_000_000_000)],
        [50, 1, 200, 200, 200],
      );
    }
  });
});

for (const store of storeNames) {
  describe(`page tokens on ${store}`, () => {
    test("a page token is valid for three days, and after them the list begins again without an error", async () => {
      await using world = await startWorld({ store });
      const robot = await world.robot(world.orgUid, [Capability.CAP_IAM_GROUPS_LIST]);
      const group = await world.group(world.orgUid);
      for (let i = 0; i < 5; i++) await world.group(group, `g${i}`);
      const list = async (pageToken: string, skip: number) => {
        const { token } = await world.signIn(robot.uid);
        const query = `uidp.childrenOf=${group}&order_by=name&page_size=2&skip=${skip}&page_token=${pageToken}`;
        const answer = await world.raw("GET", `/iam/v2/groups?${query}`, undefined, token);
        assert.equal(answer.status, 200, answer.text);
        const { groups, nextPageToken, skipped } = parse(answer.text) as {
          groups: { name: string }[];
          nextPageToken: string;
          skipped: number;
        };
        return { names: groups.map(({ name }) => name), nextPageToken, skipped };
      };
      const first = await list("", 1);
      assert.deepEqual([first.names, first.skipped], [["g1", "g2"], 1]);
      world.clock.advance(3 * DAY);
      const still = await list(first.nextPageToken, 0);
      assert.deepEqual([still.names, still.skipped], [["g3", "g4"], 1]);
      world.clock.advance(1);
      const again = await list(first.nextPageToken, 0);
      assert.deepEqual([again.names, again.skipped], [["g0", "g1"], 0]);
      assert.deepEqual((await list(again.nextPageToken, 0)).names, ["g2", "g3"]);
    });
  });
}
