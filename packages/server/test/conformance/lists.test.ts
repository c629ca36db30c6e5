/** Every list has the same orders, pages, page tokens and filters by name. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { fromJson, type JsonObject, toJson } from "@bufbuild/protobuf";
import { Code } from "../../src/lib/errors.ts";
import type { Client } from "../harness/clients.ts";
import { parse, textOf } from "../harness/json.ts";
import {
  asListed,
  asRead,
  changeResource,
  createParent,
  createResource,
  filterForAll,
  hasField,
  itemsOf,
  listingCapabilities,
  methodOf,
  parentForOneMore,
  type ResourceSample,
} from "../harness/samples.ts";
import type { Caller } from "../harness/world.ts";
import { describeWithSamples, resources } from "./samples.ts";

const ROWS = 12;
/** Columns that order any resource that has the field. The first spelling is that of messages. */
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

describeWithSamples("lists", (world) => {
  let reader: Caller;
  before(async () => {
    reader = await world.robot(world.orgUid, listingCapabilities(resources));
  });

  for (const sample of resources) {
    describe(`the list of ${sample.title}`, () => {
      const byTime = hasField(sample, "createTime") ? "create_time" : "update_time";
      let parent: string;
      /** In the form of lists, in no particular order. */
      let rows: JsonObject[];
      before(async () => {
        parent = await createParent(world, sample, await world.group(world.orgUid));
        rows = [];
        // Four rows at each of three moments, with names that repeat, so that every order but that of uids has ties.
        for (let moment = 0; moment < 3; moment++) {
          world.clock.advance(1000);
          const names = ["b", "a.c", "a-c", "a c"].map((name) => (sample.sharesNames ? name : `${name}${moment}`));
          const answers = await Promise.all(
            names.map(async (name) => createResource(world, sample, await parentForOneMore(world, sample, parent), name)),
          );
          rows.push(...answers.map(({ text }) => completed(sample, parse(asListed(sample, asRead(sample, text))))));
        }
        world.clock.advance(1000);
        const changed = sample.isImmutable ? [] : rows.slice(2, 5);
        for (const row of changed) {
          const answer = await changeResource(world, sample, row, sample.smallChange);
          assert.equal(answer.status, 200, answer.text);
          rows[rows.indexOf(row)] = completed(sample, parse(asListed(sample, answer.text)));
        }
      });
      const listPage = (request: JsonObject, client: Client = world.rest, token = world.owner.token) =>
        list(client, sample, { ...request, uidp: filterForAll(sample, parent) }, token);
      const pages = async (request: JsonObject, client: Client) => {
        const found: Page[] = [];
        for (let pageToken = ""; ; ) {
          const page = await listPage({ ...request, ...(pageToken && { pageToken }) }, client);
          found.push(page);
          pageToken = page.nextPageToken;
          if (pageToken === "") return found;
        }
      };

      test("orderBy sorts by any column in both directions across pages, and by uid among equals", async () => {
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

      test("a list without orderBy has the default order of the resource", async () => {
        const { items } = await listPage({});
        const { items: asked } = await listPage({ orderBy: sample.defaultOrder });
        assert.deepEqual(uids(items), uids(asked));
        if (sample.defaultOrder === "uid") assert.deepEqual(uids(items), uids(rows).toSorted());
      });

      test("every page has the total count, and the last one has no next page token", async () => {
        const found = await pages({ pageSize: 5 }, world.rest);
        assert.deepEqual(
          found.map(({ totalCount }) => totalCount),
          [String(ROWS), String(ROWS), String(ROWS)],
        );
        const exact = await listPage({ pageSize: ROWS });
        assert.deepEqual([exact.items.length, exact.nextPageToken], [ROWS, ""]);
      });

      test("a page of 5 after skipping 10 of 12 rows contains the last two", async () => {
        for (const orderBy of ["", `${byTime} desc`]) {
          const all = (await listPage({ orderBy })).items;
          const page = await listPage({ orderBy, pageSize: 5, skip: 10 });
          assert.deepEqual(page.items, all.slice(10));
          assert.deepEqual([page.skipped, page.totalCount, page.nextPageToken], [10, String(ROWS), ""]);
        }
      });

      test("skip and pageSize select the same rows as slicing an array", async () => {
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

      test("skip counts from the page token and adds to the rows skipped before", async () => {
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

      test("a list is empty if skip goes beyond its end", async () => {
        const page = await listPage({ skip: 1000 });
        assert.deepEqual(page, { items: [], nextPageToken: "", totalCount: String(ROWS), skipped: 1000 });
      });

      test("a skip is refused if the rows skipped on all pages are more than the answer can say", async () => {
        const { nextPageToken: pageToken } = await listPage({ pageSize: 1, skip: 1 });
        const most = 2 ** 31 - 1;
        assert.equal((await listPage({ pageToken, skip: most - 1 })).skipped, most);
        for (const client of [world.rest, world.grpc]) {
          const request = { uidp: filterForAll(sample, parent), pageToken, skip: most };
          const refused = await refusal(client, sample, request, world.owner.token);
          assert.deepEqual(refused, { code: Code.INVALID_ARGUMENT, fields: ["skip"] });
        }
      });

      test("a negative pageSize or skip and an unknown orderBy are refused", async () => {
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

      test("the filter by name matches exact names only", async () => {
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

      test("a page token shows no uid and is refused after any change", async () => {
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

      test("a page token is refused for another caller, filter, order or resource", async () => {
        const { nextPageToken: pageToken } = await listPage({ pageSize: 5 });
        assert.equal((await listPage({ pageSize: 3, pageToken })).items.length, 3);
        await assertTokenRefused({ pageToken, orderBy: "uid desc" });
        await assertTokenRefused({ pageToken, orderBy: byTime });
        await assertTokenRefused({ pageToken }, reader.token);
        await assertTokenRefused({ pageToken, uidp: { ancestorsOf: parent } });
        await assertTokenRefused({ pageToken, uidp: { ...filterForAll(sample, parent), ids: uids(rows) } });
        const filter = sample.uniqueFilter(rows[0] ?? {});
        if (Object.keys(filter).length > 0) await assertTokenRefused({ pageToken, ...filter });
        const others = resources.filter(({ kind }) => kind !== sample.kind);
        for (const other of others) {
          const refused = await refusal(world.rest, other, { pageToken, uidp: filterForAll(sample, parent) }, world.owner.token);
          assert.deepEqual(refused, { code: Code.INVALID_ARGUMENT, fields: ["page_token"] });
        }
      });

      async function assertTokenRefused(request: JsonObject, token = world.owner.token): Promise<void> {
        const whole = { uidp: filterForAll(sample, parent), pageSize: 5, ...request };
        for (const client of [world.rest, world.grpc]) {
          const refused = await refusal(client, sample, whole, token);
          assert.deepEqual(refused, { code: Code.INVALID_ARGUMENT, fields: ["page_token"] }, JSON.stringify(request));
        }
      }
    });
  }
});

async function list(client: Client, sample: ResourceSample, request: JsonObject, token: string): Promise<Page> {
  const method = methodOf(sample, "List");
  const outcome = await client.call(method, fromJson(method.input, request), token);
  if (!outcome.ok) throw new Error(outcome.error.message);
  const json = toJson(method.output, outcome.value) as JsonObject;
  const items = ((json[itemsOf(sample)] ?? []) as JsonObject[]).map((item) => completed(sample, item));
  return { items, nextPageToken: textOf(json.nextPageToken), totalCount: textOf(json.totalCount), skipped: Number(json.skipped ?? 0) };
}

/** Adds the default values, which gRPC does not send. */
function completed({ schema }: ResourceSample, item: JsonObject): JsonObject {
  return toJson(schema, fromJson(schema, item), { alwaysEmitImplicit: true }) as JsonObject;
}

async function refusal(client: Client, sample: ResourceSample, request: JsonObject, token: string): Promise<Refusal> {
  const method = methodOf(sample, "List");
  const outcome = await client.call(method, fromJson(method.input, request), token);
  assert.ok(!outcome.ok, `${JSON.stringify(request)} was not refused`);
  const violations = outcome.error.details.flatMap(({ fieldViolations = [] }) => fieldViolations as { field: string }[]);
  return { code: outcome.error.code, fields: violations.map(({ field }) => field) };
}

function uids(items: readonly JsonObject[]): string[] {
  return items.map(({ uid }) => textOf(uid));
}

/** Compares the bytes of ASCII names, independently of any locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
