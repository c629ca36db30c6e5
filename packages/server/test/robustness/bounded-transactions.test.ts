/** Background jobs and deletions with few records to which many rows belong. Other requests run meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { pruneFindings } from "../../src/advisories/findings/prune.ts";
import { requestEverything } from "../../src/advisories/findings/requests.ts";
import type { Store } from "../../src/db/store.ts";
import { createRepoEmptying } from "../../src/registry/content/empty-repo.ts";
import { CRITICAL, createFindingsWorld, osv, rangeBefore } from "../harness/advisories/findings-world.ts";
import { cpuTime } from "../harness/cpu-cost.ts";
import { createStorageFixture, GRACE_MS } from "../harness/registry/storage-fixture.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { until } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

const TIME = "2024-01-01T00:00:00.000Z";
/** Collection keeps links that were touched then. */
const FUTURE = "9999-01-01T00:00:00.000Z";
const HOUR_MS = 3_600_000;

/** The numbers from 1 to `last`, in the column `i`. */
const numbers = (last: number) => sql`(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${last}) select i from n)`;
/** A digest that ends with a number. */
const digest = (number: RawBuilder<unknown>) => sql`'sha256:' || printf('%064d', ${number})`;

async function fill(store: Store, ...statements: readonly RawBuilder<unknown>[]): Promise<void> {
  await store.transaction(async (db) => {
    for (const statement of statements) await statement.execute(db);
  });
}

async function countOf(store: Store, table: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from ${table}`.execute(store.reader);
  return Number(rows[0]?.n);
}

interface Manifests {
  readonly repoUid: string;
  readonly count: number;
  readonly bytes: number;
  /** Blobs of each. Manifests share none, unless `areShared`. */
  readonly blobs: number;
  readonly areShared?: boolean;
}

/** Adds untagged manifests that refer to blobs of the repo. */
function fillManifests(store: Store, { repoUid, count, bytes, blobs, areShared = false }: Manifests): Promise<void> {
  const all = numbers(areShared ? blobs : count * blobs);
  const blob = areShared ? sql`b.i` : sql`(m.i - 1) * ${blobs} + b.i`;
  return fill(
    store,
    sql`insert into blob (digest, size, create_time) select ${digest(sql`b.i`)}, 1, ${TIME} from ${all} as b`,
    sql`insert into repo_blob (repo_uid, digest, touch_time) select ${repoUid}, ${digest(sql`b.i`)}, ${FUTURE} from ${all} as b`,
    sql`insert into manifest (repo_uid, digest, media_type, size, create_time, touch_time, content)
      select ${repoUid}, ${digest(sql`1000000 + m.i`)}, '', ${bytes}, ${TIME}, ${TIME}, zeroblob(${bytes}) from ${numbers(count)} as m`,
    sql`insert into manifest_reference (repo_uid, manifest_digest, digest, kind)
      select ${repoUid}, ${digest(sql`1000000 + m.i`)}, ${digest(blob)}, 'blob' from ${numbers(count)} as m cross join ${numbers(blobs)} as b`,
  );
}

test("deleting a repo of many images lets other requests run", async () => {
  await using world = await startWorld();
  const { uid } = await world.must(ReposService.method.createRepo, { parent: world.orgUid, repo: { name: "large" } });
  await fillManifests(world.store, { repoUid: uid, count: 3000, bytes: 2000, blobs: 10 });
  await assertYielding("deleting the repo", () => world.must(ReposService.method.deleteRepo, { uid }));
  for (const table of [sql`manifest`, sql`manifest_reference`, sql`repo_blob`]) assert.equal(await countOf(world.store, table), 0);
});

test("emptying a repo of large manifests costs linear time", async () => {
  await using world = await createStorageFixture("sqlite");
  async function costOf(count: number): Promise<number> {
    const repoUid = await world.newRepo();
    // Each has a transaction of its own, because of the size that it claims.
    await fill(
      world.store,
      sql`insert into manifest (repo_uid, digest, media_type, size, create_time, touch_time, content)
        select ${repoUid}, ${digest(sql`m.i`)}, '', 1000000, ${TIME}, ${TIME}, zeroblob(10) from ${numbers(count)} as m`,
    );
    const begin = cpuTime();
    await createRepoEmptying(world.store)(repoUid);
    assert.equal(await countOf(world.store, sql`manifest where repo_uid = ${repoUid}`), 1);
    return cpuTime() - begin;
  }
  // Compiles the code.
  await costOf(200);
  const small = await costOf(100);
  const growth = (await costOf(1600)) / small;
  assert.ok(growth < 25, `${growth.toFixed(1)} times as much for 16 times as many`);
});

test("collecting manifests that refer to as many blobs as possible lets other requests run", async () => {
  await using world = await createStorageFixture("sqlite");
  const repoUid = await world.newRepo();
  await fillManifests(world.store, { repoUid, count: 10, bytes: 600_000, blobs: 5000, areShared: true });
  world.clock.advance(GRACE_MS);
  await assertYielding("collecting manifests", () => world.collector.run());
  assert.equal(await countOf(world.store, sql`manifest`), 0);
});

test("deleting packages with many findings lets other requests run", async () => {
  await using world = await startWorld();
  const { store, orgUid, clock } = world;
  await fill(
    store,
    sql`insert into matched_package (org_uid, type, name, version, origin, distribution, match_name, match_origin, origin_version, is_matched)
      select ${orgUid}, 'apk', 'p' || n.i, '1', '', '', 'apk p' || n.i, '', '', 1 from ${numbers(500)} as n`,
    sql`insert into finding (package_id, vulnerability, open_time, severity, is_suppressed, detail)
      select p.id, 'CVE-2024-' || n.i, ${TIME}, 3, 0, ${"x".repeat(400)} from ${numbers(100)} as n cross join matched_package as p`,
  );
  await assertYielding("deleting packages", () => pruneFindings({ store, clock }));
  assert.equal(await countOf(store, sql`matched_package`), 0);
  assert.equal(await countOf(store, sql`finding`), 0);
});

test("critical vulnerabilities of packages that many images have let other requests run", async () => {
  await using world = await startWorld();
  const { store } = world;
  const names = Array.from({ length: 100 }, (_, i) => `p${i}`);
  using given = await createFindingsWorld(world);
  await given.push(names.map((name) => `${name} 1-r0`));
  await given.settle();
  await fill(
    store,
    sql`insert into image_scan (digest, state, attempts, distribution, error, package_count)
      select ${digest(sql`n.i`)}, 'done', 0, '', '', 100 from ${numbers(2500)} as n`,
    sql`insert into matched_image (org_uid, digest, match_time) select ${given.org}, ${digest(sql`n.i`)}, ${TIME} from ${numbers(2500)} as n`,
    sql`insert into matched_image_package (image_id, package_id)
      select i.id, p.id from matched_image as i cross join matched_package as p where true on conflict do nothing`,
  );
  const advisory = (name: string) => osv(`CVE-2024-${name}`, [{ ecosystem: "Wolfi", name, events: rangeBefore("2-r0") }]);
  await given.score(Object.fromEntries(names.map((name) => [`CVE-2024-${name}`, CRITICAL])));
  await assertYielding("alerts", async () => {
    await given.importAdvisories(names.map(advisory));
    await given.settle();
  });
  assert.equal(await countOf(store, sql`finding where severity = 6`), names.length);
});

/** Adds packages of an organization. */
const addPackages = (org: string, count: number) =>
  sql`insert into matched_package (org_uid, type, name, version, origin, distribution, match_name, match_origin, origin_version, is_matched)
    select ${org}, 'apk', 'many' || n.i, '1', '', '', 'apk many' || n.i, '', '', 1 from ${numbers(count)} as n`;

test("collecting the scan of an image that many organizations had lets other requests run", async () => {
  await using world = await createStorageFixture("sqlite");
  const { store } = world;
  const scan = digest(sql`1`);
  await fill(
    store,
    sql`insert into image_scan (digest, state, attempts, distribution, error, package_count) values (${scan}, 'done', 0, '', '', 0)`,
    addPackages("org", 2000),
    sql`insert into matched_image (org_uid, digest, match_time) select 'org' || n.i, ${scan}, ${TIME} from ${numbers(100)} as n`,
    sql`insert into matched_image_package (image_id, package_id)
      select i.id, p.id from matched_image as i cross join matched_package as p`,
  );
  await assertYielding("collecting the scan", () => world.collector.run());
  for (const table of [sql`image_scan`, sql`matched_image`, sql`matched_image_package`]) assert.equal(await countOf(store, table), 0);
});

test("comparing an image again that had many packages lets other requests run", async () => {
  await using world = await startWorld();
  const { store } = world;
  using given = await createFindingsWorld(world);
  const image = await given.push(["p 1-r0"]);
  await given.settle();
  await fill(
    store,
    addPackages(given.org, 200_000),
    sql`insert into matched_image_package (image_id, package_id)
      select i.id, p.id from matched_image as i cross join matched_package as p where p.name <> 'p'`,
  );
  await assertYielding("comparing the image", async () => {
    await fill(store, sql`insert into match_request (org_uid, kind, name, token) values (${given.org}, 'image', ${image}, 'again')`);
    await given.settle();
  });
  assert.equal(await countOf(store, sql`matched_image_package`), 1);
});

test("new scores of vulnerabilities that many advisories are about let other requests run", async () => {
  await using world = await startWorld();
  const { store } = world;
  using given = await createFindingsWorld(world);
  await given.importAdvisories([osv("CVE-2024-0", [{ ecosystem: "Wolfi", name: "p", events: rangeBefore("2-r0") }])]);
  const advisory = await store.reader.selectFrom("advisory").selectAll().executeTakeFirstOrThrow();
  const copies = Array.from({ length: 1000 }, (_, i) => {
    const uid = `${given.org}/${(i + 1).toString(16).padStart(16, "0")}`;
    return { ...advisory, uid, about: uid, artifact_name: `p${i}` };
  });
  for (let start = 0; start < copies.length; start += 100)
    await store.transaction(async (db) => {
      await db
        .insertInto("advisory")
        .values(copies.slice(start, start + 100))
        .execute();
    });
  await fill(
    store,
    sql`insert into advisory_alias (alias, advisory_uid) select 'CVE-2024-' || n.i, a.uid from ${numbers(100)} as n cross join advisory as a`,
  );
  await given.settle();
  const ids = Array.from({ length: 100 }, (_, i) => `CVE-2024-${i + 1}`);
  await assertYielding("scores", () => given.score(Object.fromEntries(ids.map((id) => [id, CRITICAL]))));
  assert.equal(await countOf(store, sql`vulnerability where severities <> '[]'`), ids.length);
});

test("requesting the comparison of very many packages lets other requests run", async () => {
  await using world = await createStorageFixture("sqlite");
  const { store } = world;
  await fill(store, addPackages("org", 200_000));
  await assertYielding("requesting", () => requestEverything(store, "other rules"));
  assert.equal(await countOf(store, sql`match_request`), 200_000);
});

test("deleting abandoned imports of many parts lets other requests run", async () => {
  await using world = await startWorld();
  const { store, orgUid, clock } = world;
  const zeros = "read_count, created_count, updated_count, unchanged_count, problem_count, received_bytes, approves, may_delete, attempts";
  await fill(
    store,
    sql`insert into advisory_import (uid, parent, org_uid, kind, file_name, file, state, create_time, write_time,
        error, etag, last_modified, digest, ${sql.raw(zeros)})
      select ${orgUid} || '/' || n.i, ${orgUid}, ${orgUid}, 'advisories', '', n.i, 'uploading', ${TIME}, ${TIME},
        '', '', '', '', 0, 0, 0, 0, 0, 0, 0, 0, 0 from ${numbers(20)} as n`,
    sql`insert into advisory_import_part (import_uid, part_offset, size, sha256)
      select i.uid, n.i, 1, ${"a".repeat(64)} from ${numbers(10_000)} as n cross join advisory_import as i`,
  );
  clock.advance(2 * HOUR_MS);
  await assertYielding("deleting imports", () => until(async () => (await countOf(store, sql`advisory_import`)) === 0));
  assert.equal(await countOf(store, sql`advisory_import_part`), 0);
});
