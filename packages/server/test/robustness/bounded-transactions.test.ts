/** Background jobs and deletions with few records to which many rows belong. Other requests run meanwhile. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Store } from "../../src/db/store.ts";
import { createStorageFixture, GRACE_MS } from "../harness/registry/storage-fixture.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";
import { startWorld } from "../harness/world.ts";

const TIME = "2024-01-01T00:00:00.000Z";
/** Collection keeps links that were touched then. */
const FUTURE = "9999-01-01T00:00:00.000Z";

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

test("collecting manifests that refer to as many blobs as possible lets other requests run", async () => {
  await using world = await createStorageFixture("sqlite");
  const repoUid = await world.newRepo();
  await fillManifests(world.store, { repoUid, count: 10, bytes: 600_000, blobs: 5000, areShared: true });
  world.clock.advance(GRACE_MS);
  await assertYielding("collecting manifests", () => world.collector.run());
  assert.equal(await countOf(world.store, sql`manifest`), 0);
});
