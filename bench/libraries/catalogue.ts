/** Fills a database with many artifacts and starts a server on it. */
import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { groups } from "../../packages/server/src/iam/api/groups.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid, parentOf } from "../../packages/server/src/lib/uid.ts";
import { libraryNameCounts } from "../../packages/server/src/libraries/migrations/058-library-name-counts.ts";
import { digestOf } from "../../packages/server/test/harness/registry/registry-client.ts";
import { bootstrapDatabase, insertAll, openSink, type Sink, type Target } from "../data/fill.ts";
import { countsOf, type Row, rowOf, timeOf, timesOf } from "../data/rows.ts";
import { openDataset, type StoreName } from "../data/stores.ts";
import { scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";
import { artifactRow, gramRows, type PlannedArtifact, planArtifact, versionRows } from "./rows.ts";

export interface Contents {
  readonly artifacts: number;
  readonly versions: number;
  /** Python artifacts in the organization's library. */
  readonly projects: readonly { readonly uid: string; readonly name: string }[];
  /** An artifact with many versions. */
  readonly large: { readonly uid: string; readonly name: string; readonly versions: number };
  /** Names of Java artifacts in the organization's library. */
  readonly javaNames: readonly string[];
}

/** 200,000 artifacts for 1,000,000 rows of the other benchmarks. */
const ARTIFACTS_PER_ROW = 0.2;
const VERSIONS_PER_ARTIFACT = 10;
const VERSIONS_OF_LARGE_ARTIFACT = 1000;
const FOLDERS = 20;
/** Fewer blobs than files, because files with equal bytes share a blob. */
const BLOBS = 1000;
const SAMPLES = 200;
const ARTIFACTS_PER_BATCH = 500;

export async function serveCatalogue(store: StoreName): Promise<Served<Contents>> {
  const artifacts = Math.max(Math.round(scale.rows * ARTIFACTS_PER_ROW), SAMPLES);
  const sources = ["bench/data/rows.ts", "bench/libraries/rows.ts", "bench/libraries/catalogue.ts"];
  const filled = await openDataset(store, { key: `libraries_${artifacts}`, sources, fill: (target) => fill(target, artifacts) });
  return serveFilled(filled);
}

async function fill(target: Target, number: number): Promise<Contents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const folders = Array.from({ length: FOLDERS }, () => newUid(organization));
  const sink = await openSink(target);
  await insertAll(sink, "group", folders.map(folderRow));
  const digests = Array.from({ length: BLOBS }, (_, i) => digestOf(`${i}`));
  await insertAll(sink, "blob", digests.map(blobRow));
  const planned: PlannedArtifact[] = [];
  const batch: PlannedArtifact[] = [];
  for (let i = 0; i < number; i++) {
    // Every third artifact belongs to the organization itself, the others to its folders.
    const group = i % 3 === 0 ? organization : (folders[i % FOLDERS] ?? organization);
    batch.push(planArtifact(group, i, i === 0 ? VERSIONS_OF_LARGE_ARTIFACT : VERSIONS_PER_ARTIFACT, i / number));
    if (batch.length < ARTIFACTS_PER_BATCH && i < number - 1) continue;
    await insertBatch(sink, batch, digests);
    planned.push(...batch.splice(0));
  }
  await insertAll(sink, "resource_count", countRows(planned));
  await sink.finish();
  await countNames(target);
  console.log(`  filled ${number} artifacts in ${Math.round((performance.now() - started) / 1000)} s`);
  return contentsOf(planned, organization);
}

/** Counts the names by their substrings as the migration does that creates the counts. */
async function countNames(target: Target): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  const statement = libraryNameCounts.statements(store.dialect).find((text) => text.startsWith("insert")) ?? "";
  await store.transaction(
    async (db) => {
      for (const prepare of store.dialect.migrationLock) await sql.raw(prepare).execute(db);
      await sql.raw(statement).execute(db);
    },
    { hasNoTimeLimit: true },
  );
}

async function insertBatch(sink: Sink, batch: readonly PlannedArtifact[], digests: readonly string[]): Promise<void> {
  const rows = batch.flatMap((artifact) => [...versionRows(artifact, digests)]);
  await insertAll(sink, "library_artifact", batch.map(artifactRow));
  await insertAll(
    sink,
    "library_artifact_gram",
    batch.flatMap((artifact) => [...gramRows(artifact)]),
  );
  await insertAll(
    sink,
    "library_version",
    rows.map(({ version }) => version),
  );
  await insertAll(
    sink,
    "library_file",
    rows.map(({ file }) => file),
  );
}

function folderRow(uid: string, i: number): Row {
  const time = timeOf(0);
  return rowOf(groups, create(GroupSchema, { uid, name: `team-${i}`, ...timesOf(time) }), time);
}

function blobRow(digest: string): Row {
  return { digest, size: 100_000, create_time: timeOf(0).toISOString(), removal_time: null };
}

function* countRows(planned: readonly PlannedArtifact[]): Iterable<Row> {
  const kinds = [
    ["library_artifact", planned],
    ["python_artifact", planned.filter(({ ecosystem }) => ecosystem === Ecosystem.PYTHON)],
    ["java_artifact", planned.filter(({ ecosystem }) => ecosystem === Ecosystem.JAVA)],
  ] as const;
  for (const [kind, artifacts] of kinds) {
    const direct = new Map<string, number>();
    for (const { uid } of artifacts) direct.set(parentOf(uid), (direct.get(parentOf(uid)) ?? 0) + 1);
    yield* countsOf(kind, direct);
  }
}

function contentsOf(planned: readonly PlannedArtifact[], organization: string): Contents {
  const own = planned.filter(({ uid }) => parentOf(uid) === organization);
  const samplesOf = (ecosystem: Ecosystem) => {
    const all = own.filter((artifact) => artifact.ecosystem === ecosystem && artifact.versions === VERSIONS_PER_ARTIFACT);
    return all.filter((_, i) => i % Math.ceil(all.length / SAMPLES) === 0);
  };
  const [{ uid, name, versions }] = planned as [PlannedArtifact];
  return {
    artifacts: planned.length,
    versions: planned.reduce((sum, artifact) => sum + artifact.versions, 0),
    projects: samplesOf(Ecosystem.PYTHON).map((artifact) => ({ uid: artifact.uid, name: artifact.name })),
    large: { uid, name, versions },
    javaNames: samplesOf(Ecosystem.JAVA).map((artifact) => artifact.name),
  };
}
