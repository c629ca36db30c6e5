import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code } from "../../src/lib/errors.ts";
import type { Client } from "../harness/clients.ts";
import { storeNames } from "../harness/harness.ts";
import {
  asListed,
  asRead,
  changeTo,
  collectionOf,
  filterFor,
  hasField,
  itemsOf,
  listingCapabilities,
  methodOf,
  parse,
  placeFor,
  placeForOne,
  resources,
  type Sample,
  startSampleWorld,
  textOf,
} from "../harness/samples.ts";
import type { Caller, World } from "../harness/world.ts";

const DAY = 24 * 60 * 60 * 1000;
const ROWS = 12;
/** Names of columns by which every resource that has the field can be ordered; the first is how messages spell it. */
const COLUMNS: readonly (readonly string[])[] = [
  ["uid", "id"],
  ["name"],
  ["createTime", "create_time", "created_at"],
  ["updateTime", "update_time", "updated_at"],
];

interface Page {
  readonly items: JsonObject[];
  readonly nextPageToken: string;
  readonly totalCount: string;
  readonly skipped: number;
}

interface Refusal {
  readonly code: number;
  readonly fields: readonly string[];
}

for (const store of storeNames) {
  describe(`lists on ${store}`, () => {
    let world: World;
    let reader: Caller;
    before(async () => {
      world = await startSampleWorld({ store });
      reader = await world.robot(world.orgUid, listingCapabilities());
    });
    after(() => world[Symbol.asyncDispose]());

    for (const sample of resources) {
      describe(`of ${sample.title}`, () => {
        const byTime = hasField(sample, "createTime") ? "create_time" : "update_time";
        let place: string;
        /** As Get answers them, in no particular order. */
        let rows: JsonObject[];
        before(async () => {
          place = await placeFor(world, sample, await world.group(world.orgUid));
          rows = [];
          // Three moments with four rows each, whose names meet again, so that every order but that of the uids has ties.
          for (let moment = 0; moment < 3; moment++) {
            world.clock.advance(1000);
            const names = ["b", "a.c", "a-c", "a c"].map((name) => (sample.sharesNames ? name : `${name}${moment}`));
            const made = await Promise.all(
              names.map(async (name) => {
                const own = await placeForOne(world, sample, place);
                return world.raw("POST", `${collectionOf(sample)}/${own}`, await sample.make(world, own, name));
              }),
            );
            rows.push(...made.map(({ text }) => completed(sample, parse(asListed(sample, asRead(sample, text))))));
          }
          world.clock.advance(1000);
          const changed = sample.isImmutable ? [] : rows.slice(2, 5);
          for (const row of changed) {
            const answer = await changeTo(world, sample, row, sample.smallChange);
            assert.equal(answer.status, 200, answer.text);
            rows[rows.indexOf(row)] = completed(sample, parse(asListed(sample, answer.text)));
          }
        });
        const listPage = (request: JsonObject, client: Client = world.rest, token = world.owner.token) =>
          list(client, sample, { ...request, uidp: filterFor(sample, place) }, token);
        const pages = async (request: JsonObject, client: Client) => {
          const found: Page[] = [];
          for (let pageToken = ""; ; ) {
            const page = await listPage({ ...request, ...(pageToken && { pageToken }) }, client);
            found.push(page);
            pageToken = page.nextPageToken;
            if (pageToken === "") return found;
          }
        };

        it("come in the order of any column, both ways, over all pages, with ties by uid", async () => {
          for (const client of [world.rest, world.grpc]) {
            for (const [column = "", ...others] of COLUMNS.filter(([field = ""]) => hasField(sample, field))) {
              for (const spelling of [column, ...others]) {
                for (const direction of ["", " asc", " desc", " DESC"]) {
                  const found = await pages({ orderBy: spelling + direction, pageSize: 5 }, client);
                  assert.deepEqual(
                    found.map(({ items }) => items.length),
                    [5, 5, 2],
                  );
                  const expected = rows.toSorted((a, b) => {
                    const order = compare(textOf(a[column]), textOf(b[column])) * (direction.toLowerCase() === " desc" ? -1 : 1);
                    return order || compare(textOf(a.uid), textOf(b.uid));
                  });
                  assert.deepEqual(
                    found.flatMap(({ items }) => items),
                    expected,
                    `${spelling}${direction} over ${client.protocol}`,
                  );
                }
              }
            }
          }
        });

        it("come in their own order where none is asked for", async () => {
          const { items } = await listPage({});
          const { items: asked } = await listPage({ orderBy: sample.defaultOrder === "rank" ? "uid" : sample.defaultOrder });
          assert.deepEqual(uids(items), uids(asked));
          if (sample.defaultOrder === "uid") assert.deepEqual(uids(items), uids(rows).toSorted());
        });

        it("say on every page how many rows there are in all, and nothing of a next page on the last", async () => {
          const found = await pages({ pageSize: 5 }, world.rest);
          assert.deepEqual(
            found.map(({ totalCount }) => totalCount),
            [String(ROWS), String(ROWS), String(ROWS)],
          );
          const exact = await listPage({ pageSize: ROWS });
          assert.deepEqual([exact.items.length, exact.nextPageToken], [ROWS, ""]);
        });

        it("skip: page_size 5 with skip 10 of 12 gives the last two", async () => {
          for (const orderBy of ["", `${byTime} desc`]) {
            const all = (await listPage({ orderBy })).items;
            const page = await listPage({ orderBy, pageSize: 5, skip: 10 });
            assert.deepEqual(page.items, all.slice(10));
            assert.deepEqual([page.skipped, page.totalCount, page.nextPageToken], [10, String(ROWS), ""]);
          }
        });

        it("skip from anywhere, to anywhere, as an array would be sliced", async () => {
          const all = uids((await listPage({ orderBy: byTime })).items);
          for (let skip = 0; skip <= ROWS + 1; skip++) {
            for (const pageSize of [1, 5, ROWS]) {
              const page = await listPage({ orderBy: byTime, pageSize, skip });
              assert.deepEqual(uids(page.items), all.slice(skip, skip + pageSize));
              assert.equal(page.nextPageToken !== "", skip + pageSize < ROWS, `skip ${skip}, page_size ${pageSize}`);
              assert.equal(page.skipped, skip);
            }
          }
        });

        it("skip from the cursor where there is one, and say how many were skipped so far", async () => {
          const all = uids((await listPage({})).items);
          const first = await listPage({ pageSize: 2, skip: 1 });
          const second = await listPage({ pageSize: 2, skip: 3, pageToken: first.nextPageToken });
          const third = await listPage({ pageSize: 2, pageToken: second.nextPageToken });
          assert.deepEqual([uids(first.items), first.skipped], [all.slice(1, 3), 1]);
          assert.deepEqual([uids(second.items), second.skipped], [all.slice(6, 8), 4]);
          assert.deepEqual([uids(third.items), third.skipped], [all.slice(8, 10), 4]);
          const far = await listPage({ pageSize: 2, skip: 7, pageToken: first.nextPageToken });
          assert.deepEqual([uids(far.items), far.skipped, far.nextPageToken], [all.slice(10, 12), 8, ""]);
          assert.equal(third.totalCount, String(ROWS));
        });

        it("are empty beyond their end", async () => {
          const page = await listPage({ skip: 1000 });
          assert.deepEqual(page, { items: [], nextPageToken: "", totalCount: String(ROWS), skipped: 1000 });
        });

        it("refuse a negative page_size or skip, and an order_by that they do not have", async () => {
          for (const client of [world.rest, world.grpc]) {
            const refused = (request: JsonObject) => refusal(client, sample, request, world.owner.token);
            assert.deepEqual(await refused({ pageSize: -1 }), { code: Code.INVALID_ARGUMENT, fields: ["page_size"] });
            assert.deepEqual(await refused({ skip: -1 }), { code: Code.INVALID_ARGUMENT, fields: ["skip"] });
            for (const orderBy of [
              "nonsense",
              "name,uid",
              "uid sideways",
              "uid desc desc",
              "body",
              "parent",
              "uid; drop table role",
              "toString",
            ])
              assert.deepEqual(await refused({ orderBy }), { code: Code.INVALID_ARGUMENT, fields: ["order_by"] }, orderBy);
          }
        });

        it("find exact names only", async () => {
          if (!hasField(sample, "name")) return;
          const named = async (name: string) => uids((await listPage({ name })).items);
          const wanted = textOf(rows.find(({ name }) => textOf(name).startsWith("a.c"))?.name);
          const expected = uids(rows.filter(({ name }) => name === wanted));
          assert.equal(expected.length, sample.sharesNames ? 3 : 1);
          assert.deepEqual((await named(wanted)).toSorted(), expected.toSorted());
          for (const name of [wanted.slice(0, -2), wanted.toUpperCase(), "a.%", wanted.replace(".", "_"), `${wanted} `])
            assert.deepEqual(await named(name), [], name);
          assert.equal((await named("")).length, ROWS);
        });

        it("seal their page tokens: nobody reads or changes them", async () => {
          const { items, nextPageToken } = await listPage({ pageSize: 5 });
          const bytes = Buffer.from(nextPageToken, "base64url");
          for (const uid of uids(items)) assert.ok(!bytes.includes(uid) && !nextPageToken.includes(uid));
          const altered = [0, 10, Math.floor(nextPageToken.length / 2), nextPageToken.length - 2].map(
            (at) => nextPageToken.slice(0, at) + (nextPageToken[at] === "A" ? "B" : "A") + nextPageToken.slice(at + 1),
          );
          const forged = [
            ...altered,
            nextPageToken.slice(1),
            nextPageToken.slice(0, -4),
            `${nextPageToken}AAAA`,
            "nonsense",
            "AAAA",
            "=",
            "%00",
          ];
          for (const pageToken of forged) await assertTokenRefused({ pageToken });
        });

        it("take a page token from its own caller with its own filter and order only", async () => {
          const { nextPageToken: pageToken } = await listPage({ pageSize: 5 });
          assert.equal((await listPage({ pageSize: 3, pageToken })).items.length, 3);
          await assertTokenRefused({ pageToken, orderBy: "uid desc" });
          await assertTokenRefused({ pageToken, orderBy: byTime });
          await assertTokenRefused({ pageToken }, reader.token);
          await assertTokenRefused({ pageToken, uidp: { ancestorsOf: place } });
          await assertTokenRefused({ pageToken, uidp: { ...filterFor(sample, place), ids: uids(rows) } });
          const filter = sample.filter(rows[0] ?? {});
          if (Object.keys(filter).length > 0) await assertTokenRefused({ pageToken, ...filter });
          const others = resources.filter(({ kind }) => kind !== sample.kind);
          for (const other of others) {
            const refused = await refusal(world.rest, other, { pageToken, uidp: filterFor(sample, place) }, world.owner.token);
            assert.deepEqual(refused, { code: Code.INVALID_ARGUMENT, fields: ["page_token"] });
          }
        });

        async function assertTokenRefused(request: JsonObject, token = world.owner.token): Promise<void> {
          const whole = { uidp: filterFor(sample, place), pageSize: 5, ...request };
          for (const client of [world.rest, world.grpc]) {
            const refused = await refusal(client, sample, whole, token);
            assert.deepEqual(refused, { code: Code.INVALID_ARGUMENT, fields: ["page_token"] }, JSON.stringify(request));
          }
        }
      });
    }

    it("have 50 rows a page where no page_size is given and never more than 200", async () => {
      const group = await world.group(world.orgUid);
      await Promise.all(Array.from({ length: 205 }, (_, i) => world.group(group, `g${i}`)));
      for (const client of [world.rest, world.grpc]) {
        const groups = resources[0] as Sample;
        const length = async (pageSize: number) =>
          (await list(client, groups, { uidp: { childrenOf: group }, pageSize }, world.owner.token)).items.length;
        assert.deepEqual(
          [await length(0), await length(1), await length(200), await length(201), await length(2_000_000_000)],
          [50, 1, 200, 200, 200],
        );
      }
    });
  });

  describe(`page tokens on ${store}`, () => {
    it("hold for three days; after that the listing begins again, and nobody is told off", async () => {
      await using world = await startSampleWorld({ store });
      const robot = await world.robot(world.orgUid, listingCapabilities());
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

async function list(client: Client, sample: Sample, request: JsonObject, token: string): Promise<Page> {
  const method = methodOf(sample, "List");
  const outcome = await client.call(method, fromJson(method.input, request), token);
  if (!outcome.ok) throw new Error(outcome.error.message);
  const json = toJson(method.output, outcome.value) as JsonObject;
  const items = ((json[itemsOf(sample)] ?? []) as JsonObject[]).map((item) => completed(sample, item));
  return { items, nextPageToken: textOf(json.nextPageToken), totalCount: textOf(json.totalCount), skipped: Number(json.skipped ?? 0) };
}

/** In one form, whether it came over REST or over gRPC, where fields with their default value are not sent. */
function completed({ schema }: Sample, item: JsonObject): JsonObject {
  return toJson(schema, fromJson(schema, item), { alwaysEmitImplicit: true }) as JsonObject;
}

async function refusal(client: Client, sample: Sample, request: JsonObject, token: string): Promise<Refusal> {
  const method = methodOf(sample, "List");
  const outcome = await client.call(method, fromJson(method.input, request), token);
  assert.ok(!outcome.ok, `${JSON.stringify(request)} was not refused`);
  const violations = outcome.error.details.flatMap(({ fieldViolations = [] }) => fieldViolations as { field: string }[]);
  return { code: outcome.error.code, fields: violations.map(({ field }) => field) };
}

function uids(items: readonly JsonObject[]): string[] {
  return items.map(({ uid }) => textOf(uid));
}

/** As bytes, whatever the language: names are ASCII. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
