/** Tests lists of advisories with every filter against a plain filter in memory. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { create, type MessageInitShape, toJson } from "@bufbuild/protobuf";
import {
  Advisories,
  type Advisory,
  type AdvisoryEvent,
  AdvisorySchema,
  ReviewStatus,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService, ListAdvisoriesRequestSchema } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { filtersOf } from "../../src/advisories/api/list-advisories.ts";
import { planAdvisories } from "../../src/advisories/api/plan-advisories.ts";
import { eventTypeOf } from "../../src/advisories/model/event-types.ts";
import { advisories } from "../../src/advisories/resource.ts";
import { COUNTED_COLUMNS, PEOPLE_COLUMNS } from "../../src/advisories/storage/count.ts";
import { readFoundPage } from "../../src/api/resource/found-page.ts";
import { readRows } from "../../src/api/resource/read-rows.ts";
import type { Selection } from "../../src/api/resource/selection.ts";
import { viewOf } from "../../src/api/resource/visible.ts";
import { parentOf, rootOf } from "../../src/lib/uid.ts";
import { suffixesOf } from "../harness/advisories/suffixes.ts";
import { builtInRole } from "../harness/iam/iam.ts";
import fc from "../harness/property.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { listAdvisories } = AdvisoriesService.method;
const v1 = Advisories.method;

type Filter = Omit<MessageInitShape<typeof ListAdvisoriesRequestSchema>, "$typeName">;

const NAMES = ["openssl", "openssl-dev", "curl", "CURL", "libx_1", "go"];
const COMPONENTS = ["", "golang.org/x/net", "OpenSSL", "log4j"];
const TYPES = ["apk", "deb", "oci"];
const ALIASES = ["CVE-2024-0001", "CVE-2024-0002", "CVE-2025-0001", "GHSA-aaaa-bbbb-cccc"];
const PEOPLE_NAMES = ["ann", "bob", "robot"];
const LOCATIONS = ["", "/usr/bin/a", "/usr/lib/b"];
const KINDS = ["detection", "fixed", "falsePositiveDetermination", "fixNotPlanned", "patched", "componentLocationChanged"] as const;

const payloads = {
  detection: { case: "detection", value: { type: { case: "manual", value: {} } } },
  fixed: { case: "fixed", value: { fixedVersion: "1.2-r0" } },
  falsePositiveDetermination: { case: "falsePositiveDetermination", value: { type: 2 } },
  fixNotPlanned: { case: "fixNotPlanned", value: {} },
  patched: { case: "patched", value: { patchedVersions: ["1"] } },
  componentLocationChanged: { case: "componentLocationChanged", value: { newLocation: "/x" } },
} as const;

const arbitraryEvent = fc.record({
  type: fc.constantFrom(...KINDS).map((kind) => payloads[kind]),
  author: fc.constantFrom(...PEOPLE_NAMES),
  reviewer: fc.constantFrom("", ...PEOPLE_NAMES),
  status: fc.constantFrom(ReviewStatus.PENDING, ReviewStatus.APPROVED, ReviewStatus.REQUEST_CHANGES, ReviewStatus.REJECTED),
});

const arbitraryAdvisory = fc.record({
  artifactType: fc.constantFrom(...TYPES),
  artifactName: fc.constantFrom(...NAMES),
  artifactArchitecture: fc.constantFrom("", "x86_64"),
  componentName: fc.constantFrom(...COMPONENTS),
  componentType: fc.constantFrom("", "go-module"),
  componentLocation: fc.constantFrom(...LOCATIONS),
  aliases: fc.uniqueArray(fc.constantFrom(...ALIASES), { maxLength: 3 }),
  events: fc.array(arbitraryEvent, { maxLength: 4 }),
});

const some = <T>(values: readonly T[]) => fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 });

/** Mostly one or two filters, as in practice. */
const arbitraryFilter: fc.Arbitrary<Filter> = fc
  .record(
    {
      artifactNames: some([...NAMES, "missing"]),
      artifactTypes: some(TYPES),
      artifactArchitectures: some(["x86_64", "aarch64"]),
      componentNames: some(COMPONENTS),
      componentTypes: some(["go-module", "npm"]),
      componentLocations: some(LOCATIONS),
      aliases: some(ALIASES),
      origin: fc.constantFrom("openssl", "go", "curl"),
      eventReviewStates: some([0, 1, 2, 3, 4]),
      eventAuthors: some(PEOPLE_NAMES),
      excludeEventAuthors: some(PEOPLE_NAMES),
      eventReviewers: some(PEOPLE_NAMES),
      eventTypes: some([1, 3, 4, 6, 8, 77]),
      latestEventType: fc.constantFrom(0, 1, 3, 4, 6, 8),
      query: fc.constantFrom("open", "OPENSSL", "cve-2024", "l", "0001", "x_", "%", "golang.org/x/net", "zzz"),
    },
    { requiredKeys: [] },
  )
  .chain((all) =>
    fc
      .shuffledSubarray(Object.entries(all), { maxLength: Math.min(3, Object.keys(all).length) })
      .map((entries) => Object.fromEntries(entries) as Filter),
  );

describeWithWorld("lists of advisories", (world: World) => {
  const groups: string[] = [];
  let written: Advisory[] = [];
  /** According to the images in the database, Alpine's openssl-dev is built from openssl. */
  const origins = new Map([["openssl-dev", "openssl"]]);

  before(async () => {
    await world.bind(world.owner.uid, await builtInRole(world, "advisories.admin"), world.orgUid);
    const folder = await world.group(world.orgUid, "advisories");
    groups.push(folder, await world.group(folder, "below"), await world.group(world.orgUid, "beside"));
    await world.store.transaction(async (db) => {
      for (const [name, origin] of origins)
        await db
          .insertInto("package_origin")
          .values({ org_uid: rootOf(folder), type: "apk", name, origin })
          .execute();
    });
    for (const [i, advisory] of fc.sample(arbitraryAdvisory, 90).entries()) {
      const legacy = i % 7 === 0 ? { legacyAdvisoryID: `OLD-${i}` } : {};
      const made = await world.must(v1.create, { parentId: groups[i % 3] as string, advisory: { ...advisory, ...legacy } as never });
      if (i % 9 === 0) await world.must(v1.delete, { id: made.id });
      else written.push(made);
      world.clock.advance(1);
    }
    written = written.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  });

  const originOf = ({ artifactType, artifactName }: Advisory) =>
    (artifactType === "apk" ? origins.get(artifactName) : undefined) ?? artifactName;

  function isWanted(advisory: Advisory, filter: Filter): boolean {
    const among = (values: readonly (string | number)[] | undefined, ...own: readonly (string | number)[]) => {
      const asked = (values ?? []).filter((value) => value !== "" && value !== 0);
      return asked.length === 0 || own.some((value) => asked.includes(value));
    };
    const { events, aliases, artifactName, componentName = "" } = advisory;
    const latest = events.findLast(({ status }) => status === ReviewStatus.APPROVED);
    const texts = [artifactName, componentName, ...aliases].map((text) => text.toLowerCase());
    return (
      (filter.origin ? originOf(advisory) === filter.origin : among(filter.artifactNames, artifactName)) &&
      among(filter.artifactTypes, advisory.artifactType) &&
      among(filter.artifactArchitectures, advisory.artifactArchitecture) &&
      among(filter.componentNames, componentName) &&
      among(filter.componentTypes, advisory.componentType ?? "") &&
      among(filter.componentLocations, advisory.componentLocation ?? "") &&
      among(filter.aliases, ...aliases) &&
      among(filter.eventReviewStates, ...events.map(({ status }) => status)) &&
      among(filter.eventAuthors, ...events.map(({ author }) => author)) &&
      !events.some(({ author }) => (filter.excludeEventAuthors ?? []).includes(author)) &&
      among(filter.eventReviewers, ...events.map(({ reviewer }) => reviewer)) &&
      among(filter.eventTypes, ...events.map((event) => eventTypeOf(event as AdvisoryEvent))) &&
      (!filter.latestEventType || (latest !== undefined && eventTypeOf(latest) === filter.latestEventType)) &&
      (!filter.query || texts.some((text) => text.includes((filter.query ?? "").toLowerCase())))
    );
  }

  async function pagesOf(request: Filter): Promise<{ uids: string[]; totals: Set<bigint | undefined> }> {
    const [uids, totals] = [[] as string[], new Set<bigint | undefined>()];
    let pageToken = "";
    do {
      const page = await world.must(listAdvisories, { ...request, pageToken } as never);
      uids.push(...page.advisories.map(({ uid }) => uid));
      totals.add(page.totalCount);
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    return { uids, totals };
  }

  test("each combination of filters finds the same as a plain filter, in order, across pages, with the right total", async () => {
    const places = fc.constantFrom(
      () => ({}),
      () => ({ descendantsOf: groups[0] as string }),
      () => ({ childrenOf: groups[0] as string }),
      () => ({ ids: written.slice(10, 50).map(({ id }) => id) }),
    );
    const isAt = (uidp: { descendantsOf?: string; childrenOf?: string; ids?: string[] }, { id }: Advisory) =>
      (uidp.descendantsOf === undefined || id.startsWith(`${uidp.descendantsOf}/`)) &&
      (uidp.childrenOf === undefined || parentOf(id) === uidp.childrenOf) &&
      (uidp.ids === undefined || uidp.ids.includes(id));
    let found = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryFilter, places, fc.constantFrom(2, 7, 50), fc.boolean(), async (filter, placeOf, pageSize, descending) => {
        const uidp = placeOf();
        const wanted = written.filter((advisory) => isAt(uidp, advisory) && isWanted(advisory, filter)).map(({ id }) => id);
        const { uids, totals } = await pagesOf({ ...filter, uidp, pageSize, orderBy: descending ? "uid desc" : "" });
        assert.deepEqual(uids, descending ? wanted.toReversed() : wanted);
        assert.deepEqual([...totals], [BigInt(wanted.length)]);
        found += wanted.length;
      }),
      { numRuns: 150 },
    );
    assert.ok(found > 300, "the filters match rows");
  });

  test("when each filter matches too many rows to count, the rows are the same, and the total is right or left out", async () => {
    const { reader } = world.store;
    const all = viewOf([world.orgUid], undefined, advisories, reader.dialect);
    const selection: Selection = {
      resource: advisories,
      view: all,
      counted: "advisory",
      entries: undefined,
      isIndexed: false,
      rootRows: undefined,
      order: { column: "uid", descending: false },
      after: undefined,
      skip: 0,
      limit: 7,
    };
    const readPage = async (filter: Filter, ofPage: Selection) => {
      const filters = filtersOf(create(ListAdvisoriesRequestSchema, filter as never), reader.dialect);
      const { view, count, isIndexed = false } = await planAdvisories({ ...filters, uid: undefined }, ofPage, reader, 3);
      const planned = { ...ofPage, view, isIndexed };
      if (count === undefined) return readFoundPage(planned, reader);
      return { ...(await readRows(planned, count, reader)), total: count.total };
    };
    let leftOut = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryFilter, fc.boolean(), async (filter, descending) => {
        const wanted = written.filter((advisory) => isWanted(advisory, filter)).map(({ id }) => id);
        const uids: string[] = [];
        for (let after: Selection["after"], hasMore = true; hasMore; ) {
          const page = await readPage(filter, { ...selection, order: { column: "uid", descending }, after });
          uids.push(...page.rows.map(({ uid }) => uid));
          hasMore = page.hasMore;
          after = { key: page.rows.at(-1)?.key ?? "", uid: page.rows.at(-1)?.uid ?? "", skipped: 0 };
          if (page.total === undefined) leftOut++;
          else assert.equal(Number(page.total), wanted.length);
        }
        assert.deepEqual(uids, descending ? wanted.toReversed() : wanted);
      }),
      { numRuns: 150 },
    );
    assert.ok(leftOut > 20, "the total is left out for large results");
  });

  test("version 1 finds the same advisories, complete with events, below the requested group", async () => {
    const [uidp] = [{ descendantsOf: groups[0] as string }];
    const page = await world.must(v1.list, { uidp, artifactName: ["openssl", "curl"], pageSize: 200n });
    const wanted = written.filter(({ id, artifactName }) => id.startsWith(`${groups[0]}/`) && ["openssl", "curl"].includes(artifactName));
    assert.equal(page.id, groups[0]);
    assert.equal(page.totalCount, BigInt(wanted.length));
    assert.deepEqual(
      page.items.map((item) => toJson(AdvisorySchema, item)),
      wanted.map((item) => toJson(AdvisorySchema, item)),
    );
    const [one] = wanted;
    assert.deepEqual(
      (await world.must(v1.list, { id: one?.id ?? "" })).items.map(({ id }) => id),
      [one?.id],
    );
    assert.deepEqual((await world.must(v1.list, { id: "nothing" })).items, []);
    const moved = written.filter(({ events }) => events.some((event) => eventTypeOf(event) === 9)).map(({ id }) => id);
    assert.deepEqual(
      (await world.must(v1.list, { eventTypes: [9], pageSize: 200n })).items.map(({ id }) => id),
      moved,
    );
  });

  test("every order of both versions is kept across pages", async () => {
    const keys = {
      uid: "id",
      create_time: "createdAt",
      update_time: "updatedAt",
      advisory_id: "advisoryId",
      artifact_name: "artifactName",
    } as const;
    const isNumber = (part: unknown) => typeof part === "bigint" || typeof part === "number";
    const textOf = (value: unknown) => JSON.stringify(value, (_, part) => (isNumber(part) ? String(part).padStart(20, "0") : part));
    for (const [name, key] of Object.entries(keys))
      for (const direction of ["asc", "desc"]) {
        const { uids } = await pagesOf({ orderBy: `${name} ${direction}`, pageSize: 13 });
        const sorted = written.toSorted((a, b) => {
          const [x, y] = [textOf(a[key]), textOf(b[key])];
          return x === y ? (a.id < b.id ? -1 : 1) : x < y === (direction === "asc") ? -1 : 1;
        });
        assert.deepEqual(
          uids,
          sorted.map(({ id }) => id),
          `${name} ${direction}`,
        );
      }
    for (const orderBy of ["id", "created_at", "createTime desc", "advisoryId"]) await pagesOf({ orderBy });
    await assert.rejects(world.must(listAdvisories, { orderBy: "first_alias" }), /order_by/);
    const firsts = written.map(({ aliases: [first = ""] }) => first);
    const byAlias = await world.must(v1.list, { orderBy: 6, pageSize: 200n });
    assert.deepEqual(
      byAlias.items.map(({ aliases: [first = ""] }) => first),
      firsts.toSorted().toReversed(),
    );
  });

  test("over REST, names and advisory ids may be comma-separated or repeated parameters", async () => {
    const of = async (query: string) => JSON.parse((await world.raw("GET", `/vulnerabilities/v2/advisories?pageSize=200&${query}`)).text);
    const byNames = await of("artifactNames=openssl,go");
    assert.ok(byNames.advisories.length > 0);
    assert.deepEqual(await of("artifactNames=openssl&artifact_names=go"), byNames);
    const ids = written.slice(0, 3).map(({ advisoryId }) => advisoryId);
    assert.equal((await of(`advisoryIds=${ids.join(",")}`)).totalCount, "3");
    assert.equal((await of(`legacy_advisory_ids=OLD-7&legacyAdvisoryIds=OLD-14`)).totalCount, "2");
    assert.equal((await of("event_types=EVENT_TYPE_FILTER_FIXED")).totalCount, (await of("eventTypes=3")).totalCount);
  });

  test("a page token is refused with different filters", async () => {
    const { nextPageToken: pageToken } = await world.must(listAdvisories, { artifactTypes: ["apk"], pageSize: 1 });
    await assert.rejects(world.must(listAdvisories, { artifactTypes: ["deb"], pageSize: 1, pageToken }), /page_token/);
    await assert.rejects(world.must(listAdvisories, { pageSize: 1, pageToken }), /page_token/);
    await assert.rejects(world.must(listAdvisories, { artifactTypes: ["apk"], query: "a", pageSize: 1, pageToken }), /page_token/);
  });

  test("filter values that no row can contain match nothing", async () => {
    for (const filter of [{ artifactNames: ["\0"] }, { aliases: ["a\0"] }, { eventAuthors: ["\0"] }, { query: "\0" }, { origin: "\0" }])
      assert.equal((await world.must(listAdvisories, filter)).totalCount, 0n, JSON.stringify(filter));
    await assert.rejects(world.must(listAdvisories, { query: "x".repeat(201) }), /query/);
    await assert.rejects(world.must(listAdvisories, { eventAuthors: Array.from({ length: 101 }, (_, i) => `a${i}`) }), /100/);
  });

  test("the database has the suffixes of each search term, and no others", async () => {
    const names = ["a", "aaaa", "x😀y", "ab".repeat(100), "é".repeat(127), `${"n".repeat(40)}😀`, "github.com/example/a-name-of-33-chars"];
    for (const artifactName of names) {
      const advisory = { advisoryId: "SUFFIX-1", artifactType: "npm", artifactName, artifactArchitecture: "", aliases: ["CVE-2020-1234"] };
      await world.must(v1.create, { parentId: groups[0] as string, advisory });
    }
    const { reader } = world.store;
    for (const term of [...names, "cve-2020-1234"].map((name) => name.toLowerCase())) {
      const rows = await reader.selectFrom("advisory_suffix").select("suffix").where("term", "=", term).execute();
      assert.deepEqual(rows.map(({ suffix }) => suffix).toSorted(), [...suffixesOf(term)].toSorted(), term);
    }
  });

  test("the maintained counts equal the counted rows", async () => {
    const rows = await world.store.reader.selectFrom("advisory").selectAll().where("delete_time", "is", null).execute();
    const expected = new Map<string, number>();
    const count = (...key: unknown[]) => expected.set(JSON.stringify(key), (expected.get(JSON.stringify(key)) ?? 0) + 1);
    for (const row of rows)
      for (const group of [world.orgUid, "/", ...groups].filter((uid) => uid === "/" || row.uid.startsWith(`${uid}/`))) {
        const isDirect = parentOf(row.uid) === group;
        const values = COUNTED_COLUMNS.map((column) => row[column]);
        count("kind", "below", group, ...values);
        if (isDirect) count("kind", "direct", group, ...values);
        for (const facet of PEOPLE_COLUMNS) {
          count(facet, "below", group, row[facet]);
          if (isDirect) count(facet, "direct", group, row[facet]);
        }
      }
    const stored = new Map<string, number>();
    const add = (key: unknown[], n: number) => stored.set(JSON.stringify(key), (stored.get(JSON.stringify(key)) ?? 0) + n);
    for (const row of await world.store.reader.selectFrom("advisory_count").selectAll().execute())
      for (const which of ["below", "direct"] as const)
        add(["kind", which, row.group_uid, ...COUNTED_COLUMNS.map((column) => row[column])], row[which]);
    for (const row of await world.store.reader.selectFrom("advisory_people_count").selectAll().execute())
      for (const which of ["below", "direct"] as const) add([row.facet, which, row.group_uid, row.people], row[which]);
    const sorted = (map: Map<string, number>) => [...map].filter(([, n]) => n !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1));
    assert.deepEqual(sorted(stored), sorted(expected));
  });
});
