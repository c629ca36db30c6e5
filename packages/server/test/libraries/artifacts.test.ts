/** The catalogue of libraries: searches, filters, orders and access. The tests of the protocols cover publishing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { ArtifactsService, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { librarySearch } from "../../src/libraries/migrations/015-library-search.ts";
import { basic } from "../harness/registry/registry-client.ts";
import { type Caller, describeWithWorld, type World } from "../harness/world.ts";

const { listArtifacts, getArtifactCount } = ArtifactsService.method;
const JAVA = [Ecosystem.JAVA];
const BOTH = [Ecosystem.JAVA, Ecosystem.PYTHON];

interface Page {
  readonly artifactVersions: readonly { readonly version: string; readonly sizeBytes: string }[];
  readonly nextPageToken?: string;
  readonly totalCount: string;
}

describeWithWorld("the catalogue of libraries", (world: World) => {
  async function deploy(library: string, artifact: string, version: string): Promise<void> {
    const path = `/libraries/java/${library}/com/example/${artifact}/${version}/${artifact}-${version}.jar`;
    const answer = await fetch(world.baseUrl + path, {
      method: "PUT",
      headers: { authorization: basic("_token", world.token) },
      body: `${artifact} ${version}`,
    });
    assert.equal(answer.status, 201, await answer.text());
  }
  /** Creates a group with the named artifacts and a reader of its catalogue. */
  async function libraryOf(name: string, artifacts: readonly string[]): Promise<{ group: string; reader: Caller }> {
    const group = await world.group(world.orgUid, name);
    for (const artifact of artifacts) await deploy(`my-org:${name}`, artifact, "1.0");
    return { group, reader: await world.robot(group, [Capability.CAP_LIBRARIES_ARTIFACTS_LIST]) };
  }
  const namesFor = async (reader: Caller, request: object) =>
    (await world.must(listArtifacts, { ecosystems: JAVA, ...request }, reader.token)).artifacts.map(({ name }) => name.split(":")[1]);

  /** In this REST path a uid is one segment with escaped slashes. */
  async function versionsOf(artifactId: string, { token }: Caller, query = ""): Promise<{ status: number; page: Page }> {
    const { status, text } = await world.raw(
      "GET",
      `/libraries/v2/artifacts/${encodeURIComponent(artifactId)}/versions${query}`,
      undefined,
      token,
    );
    return { status, page: JSON.parse(text) as Page };
  }

  test("a search finds exactly the artifacts whose name contains the query, in any case", async () => {
    const { reader } = await libraryOf("search", ["alpha-core", "alpha-web", "beta-core", "under_scope", "underxscope"]);
    const find = (query: string) => namesFor(reader, { query });
    assert.deepEqual(await find("core"), ["alpha-core", "beta-core"]);
    assert.deepEqual(await find("ALPHA"), ["alpha-core", "alpha-web"]);
    assert.deepEqual(await find("a-c"), ["alpha-core", "beta-core"]);
    assert.deepEqual(await find("r_s"), ["under_scope"]);
    assert.deepEqual(await find("-w"), ["alpha-web"]);
    assert.deepEqual(await find("com.example:beta"), ["beta-core"]);
    assert.deepEqual(await find("W"), ["alpha-web"]);
    assert.deepEqual(await find("b"), ["alpha-web", "beta-core"]);
    assert.deepEqual(await find("PH"), ["alpha-core", "alpha-web"]);
    for (const query of ["nothing", "%", "zz", "q", "_s_", "100%", "\0", "core%"]) assert.deepEqual(await find(query), [], query);
  });

  test("the migration indexes existing artifacts exactly as publishing does", async () => {
    await libraryOf("before", ["gamma-core", "gg", `long-${"x".repeat(150)}`]);
    const { store } = world;
    const rows = () =>
      store.reader.selectFrom("library_artifact_gram").selectAll().orderBy("artifact_uid").orderBy("gram").orderBy("name").execute();
    const published = await rows();
    assert.ok(published.length > 100);
    const fill = librarySearch.statements(store.dialect).find((statement) => statement.startsWith("insert into library_artifact_gram"));
    await store.transaction(async (db) => {
      await db.deleteFrom("library_artifact_gram").execute();
      await sql.raw(fill ?? "").execute(db);
    });
    assert.deepEqual(await rows(), published);
  });

  test("the pages of a search have each artifact once, in order, and the total count", async () => {
    const names = Array.from({ length: 25 }, (_, index) => `paged-${String(index).padStart(2, "0")}`);
    const { reader } = await libraryOf("pages", [...names, "other"]);
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await world.must(listArtifacts, { ecosystems: JAVA, query: "paged", pageSize: 10, pageToken }, reader.token);
      assert.equal(page.totalCount, 25n);
      seen.push(...page.artifacts.map(({ name }) => name.slice("com.example:".length)));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    assert.deepEqual(seen, names);
    assert.deepEqual(await namesFor(reader, { query: "paged", orderBy: "name desc", pageSize: 2, skip: 3 }), ["paged-21", "paged-20"]);
  });

  test("filters combine in every order and on every page, with the total count", async () => {
    const { reader } = await libraryOf("filtered", ["zeta", "alpha", "beta", "gamma"]);
    for (const artifact of ["beta", "alpha", "zeta"]) await deploy("my-org:filtered", artifact, "1.1-holt-1");
    const orders = { name: ["alpha", "beta", "zeta"], "name desc": ["zeta", "beta", "alpha"], create_time: ["zeta", "alpha", "beta"] };
    for (const [orderBy, expected] of Object.entries(orders)) {
      for (const ecosystems of [JAVA, BOTH]) {
        for (const query of ["", "a", "ta", "com.example"]) {
          const found: string[] = [];
          for (let skip = 0; skip < 4; skip += 2) {
            const request = { ecosystems, remediated: true, query, orderBy, pageSize: 2, skip };
            const { artifacts, totalCount } = await world.must(listArtifacts, request, reader.token);
            found.push(...artifacts.map(({ name }) => name.slice("com.example:".length)));
            const all = expected.filter((name) => `com.example:${name}`.includes(query));
            assert.equal(totalCount, BigInt(all.length), `${orderBy} ${query}`);
          }
          assert.deepEqual(found.toSorted(), expected.filter((name) => `com.example:${name}`.includes(query)).toSorted());
          if (orderBy !== "create_time")
            assert.deepEqual(
              found,
              expected.filter((name) => `com.example:${name}`.includes(query)),
            );
        }
      }
      assert.equal((await world.must(listArtifacts, { ecosystems: JAVA, orderBy }, reader.token)).totalCount, 4n);
    }
    assert.deepEqual(await namesFor(reader, { ecosystems: BOTH, cudaVersion: "12.1", query: "a", remediated: true }), []);
  });

  test("a deleted artifact is not found any more, and its name can be used again", async () => {
    const { reader } = await libraryOf("forgotten", ["gone", "there"]);
    const { status } = await fetch(`${world.baseUrl}/libraries/java/my-org:forgotten/com/example/gone/1.0/`, {
      method: "DELETE",
      headers: { authorization: basic("_token", world.token) },
    });
    assert.equal(status, 204);
    for (const query of ["g", "go", "gone", "com"]) assert.deepEqual(await namesFor(reader, { query }), query === "com" ? ["there"] : []);
    const rows = await world.store.reader
      .selectFrom("library_artifact_gram")
      .select("gram")
      .where("name", "=", "com.example:gone")
      .execute();
    assert.deepEqual(rows, []);
    await deploy("my-org:forgotten", "gone", "1.0");
    assert.deepEqual(await namesFor(reader, { query: "gone" }), ["gone"]);
  });

  test("a reader sees the artifacts of its group and below, and other readers see none of them", async () => {
    const { group, reader } = await libraryOf("seen", ["mine"]);
    const below = await world.group(group, "below");
    await deploy("my-org:seen:below", "deeper", "1.0");
    const { reader: other } = await libraryOf("sibling", ["theirs"]);
    assert.deepEqual(await namesFor(reader, {}), ["deeper", "mine"]);
    assert.deepEqual(await namesFor(await world.robot(below, [Capability.CAP_LIBRARIES_ARTIFACTS_LIST]), {}), ["deeper"]);
    assert.deepEqual(await namesFor(await world.robot(group, [Capability.CAP_IAM_GROUPS_LIST]), {}), []);
    const { counts } = await world.must(getArtifactCount, { ecosystems: BOTH }, reader.token);
    assert.deepEqual(
      counts.map(({ ecosystem, totalCount }) => [ecosystem, totalCount]),
      [
        [Ecosystem.JAVA, 2n],
        [Ecosystem.PYTHON, 0n],
      ],
    );
    const [artifact] = (await world.must(listArtifacts, { ecosystems: JAVA }, reader.token)).artifacts;
    assert.ok(artifact);
    assert.equal((await versionsOf(artifact.uid, reader)).page.artifactVersions.length, 1);
    assert.equal((await versionsOf(artifact.uid, other)).status, 404);
  });

  test("versions are listed newest first in Maven's order, page by page, with their sizes", async () => {
    const { reader } = await libraryOf("versions", []);
    for (const version of ["1.9", "1.10", "1.10-rc1", "2.0-alpha-1", "1.2"]) await deploy("my-org:versions", "lib", version);
    const [artifact] = (await world.must(listArtifacts, { ecosystems: JAVA }, reader.token)).artifacts;
    assert.deepEqual([artifact?.latestVersion, artifact?.versionCount], ["1.10", 5]);
    const uid = artifact?.uid ?? "";
    const { page: first } = await versionsOf(uid, reader, "?page_size=3");
    const { page: rest } = await versionsOf(uid, reader, `?page_size=3&page_token=${first.nextPageToken}`);
    const versions = [...first.artifactVersions, ...rest.artifactVersions];
    assert.deepEqual(
      versions.map(({ version }) => version),
      ["2.0-alpha-1", "1.10", "1.10-rc1", "1.9", "1.2"],
    );
    assert.deepEqual([first.totalCount, rest.nextPageToken, versions[1]?.sizeBytes], ["5", undefined, String("lib 1.10".length)]);
    assert.equal((await versionsOf(uid, reader, `?order_by=create_time&page_token=${first.nextPageToken}`)).status, 400);
    const { page: skipping } = await versionsOf(uid, reader, "?page_size=1&skip=1");
    assert.equal((await versionsOf(uid, reader, `?skip=${2 ** 31 - 1}&page_token=${skipping.nextPageToken}`)).status, 400);
  });

  test("an invalid request is refused with the name of the invalid field", async () => {
    const assertRefused = async (request: object, field: RegExp) =>
      assert.rejects(world.must(listArtifacts, { ecosystems: JAVA, ...request }), field);
    await assertRefused({ ecosystems: [] }, /ecosystems/);
    await assertRefused({ ecosystems: [Ecosystem.UNSPECIFIED] }, /ecosystems/);
    await assertRefused({ cudaVersion: "12.1" }, /cuda_version/);
    await assertRefused({ query: "x".repeat(201) }, /query/);
    await assertRefused({ orderBy: "size" }, /order_by/);
    await assert.rejects(world.must(getArtifactCount, { ecosystems: [] }), /ecosystems/);
    assert.equal((await versionsOf("nonsense", world.owner)).status, 404);
  });

  test("a group whose library is not empty cannot be deleted", async () => {
    const { group } = await libraryOf("kept", ["lib"]);
    const { status, text } = await world.raw("DELETE", `/iam/v2/groups/${group}`);
    assert.equal(status, 400);
    assert.match(text, /cannot delete group with child resources/);
  });
});
