import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { storeNames } from "../harness/harness.ts";
import { startWorld, type World } from "../harness/world.ts";

const STAYING = 24;
const ORDERS = ["uid", "uid desc", "name", "name desc", "create_time", "create_time desc", "update_time desc"];

for (const store of storeNames) {
  describe(`pages while rows come and go on ${store}`, () => {
    let world: World;
    before(async () => {
      world = await startWorld({ store });
    });
    after(() => world[Symbol.asyncDispose]());

    /** Rows that stay, among rows that will go. Names meet. */
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
      assert.equal(new Set(seen).size, seen.length, `${orderBy}: a row came twice`);
      const missed = staying.filter((uid) => !seen.includes(uid));
      assert.deepEqual(missed, [], `${orderBy}: rows that were there all the time were missed`);
    }

    for (const orderBy of ORDERS) {
      it(`show every row that stays exactly once in the order of ${orderBy}, also where the last row of a page is deleted`, async () => {
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
          // One before and one after where the reader stands, by any order, more often than not.
          if (seen.length < 40) await Promise.all(["a", "n1", "z"].map((name) => world.group(group, name)));
        }
        assertEachOnce(seen, staying, orderBy);
      });
    }

    it("show every row that stays exactly once while others are written at the same time", async () => {
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
  });
}
