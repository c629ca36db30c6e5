/** Tests searches for libraries with every filter against a plain filter in memory, and the counts that their totals come from. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Artifact, ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { readFoundPage } from "../../src/api/resource/found-page.ts";
import { readRows } from "../../src/api/resource/read-rows.ts";
import type { Selection } from "../../src/api/resource/selection.ts";
import { viewOf } from "../../src/api/resource/visible.ts";
import { parentOf } from "../../src/lib/uid.ts";
import { type ArtifactFilters, termsOf } from "../../src/libraries/api/artifacts.ts";
import { artifacts as resource } from "../../src/libraries/artifacts-resource.ts";
import { checkNameCounts } from "../../src/libraries/check-name-counts.ts";
import { libraryNameCounts } from "../../src/libraries/migrations/058-library-name-counts.ts";
import { upload, wheel } from "../harness/libraries/python-packages.ts";
import fc from "../harness/property.ts";
import { basic, createRegistryClient } from "../harness/registry/registry-client.ts";
import { describeWithWorld, type World } from "../harness/world.ts";

const { listArtifacts } = ArtifactsService.method;
const { listLibraryArtifacts } = LibraryArtifactsService.method;
const WORDS = ["api", "apia", "mail", "web", "x", "data-mail", "pi"];
const CUDA: Readonly<Record<string, string>> = { "2.0+cu121": "12.1", "2.1+cu118": "11.8" };
const REMEDIATED = ["1.1+holt.1", "1.1-holt-1"];

const arbitraryLibrary = fc.record({
  words: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }),
  isJava: fc.boolean(),
  place: fc.nat(2),
  extra: fc.subarray<number>([0, 1, 2]),
});

const arbitraryFilter: fc.Arbitrary<ArtifactFilters> = fc
  .record({
    query: fc.constantFrom(
      "",
      "a",
      "PI",
      "api",
      "mai",
      "data",
      "-mail",
      "il-",
      "web-x",
      "apia",
      "com.example:",
      "zzz",
      "datamail",
      "a_i",
      "%",
    ),
    ecosystems: fc.constantFrom<Ecosystem[]>([Ecosystem.PYTHON], [Ecosystem.JAVA], [Ecosystem.JAVA, Ecosystem.PYTHON]),
    remediated: fc.boolean(),
    cudaVersion: fc.constantFrom("", "", "12.1", "11.8", "9.9"),
    orderBy: fc.constantFrom("", "name desc", "create_time", "update_time desc", "uid"),
  })
  .map((filter) => ({ ...filter, cudaVersion: filter.ecosystems.includes(Ecosystem.PYTHON) ? filter.cudaVersion : "" }));

interface Library {
  readonly artifact: Artifact;
  readonly versions: readonly string[];
}

describeWithWorld("searches for libraries", (world: World) => {
  const groups: string[] = [];
  const libraries: Library[] = [];

  before(async () => {
    const group = await world.group(world.orgUid, "search");
    groups.push(group, await world.group(group, "below"), await world.group(world.orgUid, "beside"));
    using client = createRegistryClient(world.baseUrl, basic("_token", world.token));
    const published = new Map<string, string[]>();
    for (const [i, { words, isJava, place, extra }] of fc.sample(arbitraryLibrary, 45).entries()) {
      const owner = groups[place]?.replaceAll("/", ":") ?? "";
      const name = `${words.join("-")}-${i % 9}`;
      const versions = ["1.0", ...extra.flatMap((number) => (isJava ? [REMEDIATED[1]!] : [REMEDIATED[0]!, ...Object.keys(CUDA)][number]!))];
      world.clock.advance(1000);
      for (const version of new Set(versions)) {
        const path = `/libraries/java/${owner}/com/example/${name}/${version}/${name}-${version}.jar`;
        const put = () => client.send("PUT", path, { body: `${name} ${version}` });
        const { status, body } = isJava ? await put() : await upload(client, owner, wheel({ name, version }));
        assert.ok(status === 201 || status === 200, `${status} ${body}`);
      }
      const key = `${groups[place]} ${isJava ? `com.example:${name}` : name}`;
      published.set(key, [...(published.get(key) ?? []), ...versions]);
    }
    // Some lose their remediated versions, and some lose all versions.
    for (const [i, key] of [...published.keys()].filter((key) => key.includes("com.example")).entries()) {
      if (i % 3 === 2) continue;
      const [parent = "", name = ""] = key.split(" com.example:");
      const versions = new Set(published.get(key));
      for (const version of i % 3 === 0 ? versions : [...versions].filter((one) => REMEDIATED.includes(one))) {
        const answer = await client.send("DELETE", `/libraries/java/${parent.replaceAll("/", ":")}/com/example/${name}/${version}/`);
        assert.equal(answer.status, 204);
        versions.delete(version);
      }
      published.set(key, [...versions]);
    }
    const request = { ecosystems: [Ecosystem.JAVA, Ecosystem.PYTHON], pageSize: 200 };
    for (const artifact of (await world.must(listArtifacts, request)).artifacts)
      libraries.push({ artifact, versions: published.get(`${parentOf(artifact.uid)} ${artifact.name}`) ?? [] });
    assert.equal(libraries.length, [...published.values()].filter((versions) => versions.length > 0).length);
  });

  function wantedBy({ query, ecosystems, remediated, cudaVersion }: ArtifactFilters, isAt: (parent: string) => boolean): string[] {
    const found = libraries.filter(
      ({ artifact: { uid, name, ecosystem }, versions }) =>
        isAt(parentOf(uid)) &&
        ecosystems.includes(ecosystem) &&
        name.toLowerCase().includes(query.toLowerCase()) &&
        (!remediated || versions.some((version) => REMEDIATED.includes(version))) &&
        (!cudaVersion || versions.some((version) => CUDA[version] === cudaVersion)),
    );
    return found.map(({ artifact }) => artifact.uid);
  }

  /** Rows are in the order of their keys, and rows with equal keys in that of their uids. */
  function assertSorted(page: readonly Artifact[], orderBy: string): void {
    const [column = "name", direction] = orderBy.split(" ");
    const keyOf = ({ uid, name, createTime, updateTime }: Artifact): string =>
      ({ uid, create_time: String(createTime?.seconds), update_time: String(updateTime?.seconds) })[column] ?? name;
    const sorted = page.toSorted((a, b) => {
      const [x, y] = [keyOf(a), keyOf(b)];
      return x === y ? (a.uid < b.uid ? -1 : 1) : x < y === (direction === "desc") ? 1 : -1;
    });
    assert.deepEqual(
      page.map(({ uid }) => uid),
      sorted.map(({ uid }) => uid),
    );
  }

  test("each combination of filters finds the same as a plain filter, in order, across pages, with the right total", async () => {
    const { token } = await world.robot(groups[0] ?? "", [Capability.CAP_LIBRARIES_ARTIFACTS_LIST]);
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(arbitraryFilter, fc.constantFrom(2, 5, 50), async (filter, pageSize) => {
        const wanted = wantedBy(filter, (parent) => parent !== groups[2]);
        const found: Artifact[] = [];
        for (let pageToken = ""; ; ) {
          const page = await world.must(listArtifacts, { ...filter, pageSize, pageToken }, token);
          assert.equal(page.totalCount, BigInt(wanted.length), JSON.stringify(filter));
          found.push(...page.artifacts);
          pageToken = page.nextPageToken;
          if (pageToken === "") break;
        }
        assert.deepEqual(found.map(({ uid }) => uid).toSorted(), wanted.toSorted(), JSON.stringify(filter));
        assertSorted(found, filter.orderBy);
        matches += found.length;
      }),
      { numRuns: 100 },
    );
    assert.ok(matches > 200, "the filters match rows");
  });

  test("a search among the children of a group finds no others and has the right total", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryFilter, fc.constantFrom(...groups), async ({ ecosystems, cudaVersion: _, ...filter }, parent) => {
        const [ecosystem = Ecosystem.PYTHON] = ecosystems;
        const wanted = wantedBy({ ...filter, ecosystems: [ecosystem], cudaVersion: "" }, (one) => one === parent);
        const request = { ...filter, ecosystem, uidp: { childrenOf: parent }, pageSize: 200 };
        const { libraryArtifacts, totalCount } = await world.must(listLibraryArtifacts, request);
        assert.deepEqual([libraryArtifacts.map(({ uid }) => uid).toSorted(), totalCount], [wanted.toSorted(), BigInt(wanted.length)]);
      }),
      { numRuns: 60 },
    );
  });

  test("when many names contain each part of a text, the rows and the total are the same", async () => {
    const { reader } = world.store;
    const view = viewOf([world.orgUid], undefined, resource, reader.dialect);
    const order = { column: "name", descending: false };
    const page = { order, after: undefined, skip: 0, limit: 100, isIndexed: false, entries: undefined, rootRows: undefined };
    const selection: Selection = { resource, view, counted: "library_artifact", ...page };
    await fc.assert(
      fc.asyncProperty(arbitraryFilter, async (filter) => {
        const { plan } = termsOf({ ...filter, orderBy: "name" }, reader.dialect, 0);
        const planned = await plan?.(selection, reader);
        if (planned === undefined) return;
        const { view, count } = planned;
        const { rows } =
          count === undefined ? await readFoundPage({ ...selection, view }, reader) : await readRows({ ...selection, view }, count, reader);
        const wanted = wantedBy(filter, () => true);
        assert.deepEqual(rows.map(({ uid }) => uid).toSorted(), wanted.toSorted());
        if (count !== undefined) assert.equal(count.total, wanted.length);
      }),
      { numRuns: 100 },
    );
  });

  test("the counts of names equal those of the artifacts, and the check finds and corrects wrong ones", async () => {
    const { store } = world;
    const check = () => store.snapshot(checkNameCounts);
    const { rows } = await sql<{ n: number }>`select cast(count(*) as bigint) as n from library_name_count`.execute(store.reader);
    assert.ok(Number(rows[0]?.n) > 100);
    assert.equal((await check()).wrong, 0);
    await store.transaction((db) => db.updateTable("library_name_count").set({ below: sql`below + 2` }).where("gram", "=", "pi").execute());
    await store.transaction((db) => db.deleteFrom("library_name_count").where("gram", "=", "x").execute());
    const { wrong, repair } = await check();
    assert.ok(wrong > 1);
    await store.transaction(repair);
    assert.equal((await check()).wrong, 0);
  });

  test("the counts that the migration makes of existing artifacts are right", async () => {
    const { store } = world;
    const fill = libraryNameCounts.statements(store.dialect).find((statement) => statement.startsWith("insert"));
    await store.transaction(async (db) => {
      await db.deleteFrom("library_name_count").execute();
      await sql.raw(fill ?? "").execute(db);
    });
    assert.equal((await store.snapshot(checkNameCounts)).wrong, 0);
  });
});
