/** A database with many artifacts, and a server on it. */
import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { groups } from "../../packages/server/src/iam/api/groups.ts";
import { newUid, parentOf } from "../../packages/server/src/lib/uid.ts";
import { digestOf } from "../../packages/server/test/harness/registry/registry-client.ts";
import { begin, insertAll, openSink, type Sink, type Target } from "../data/fill.ts";
import { countsOf, type Row, rowOf, timeOf, timesOf } from "../data/rows.ts";
import { open, type StoreName } from "../data/stores.ts";
import { scale } from "../scale.ts";
import { type Served, serveFilled } from "../servers.ts";
import { artifactRow, gramRows, type PlannedArtifact, planArtifact, versionRows } from "./rows.ts";

export interface Contents {
  readonly artifacts: number;
  readonly versions: number;
  /** Artifacts of Python in the library of the organization, and one that has many versions. */
  readonly projects: readonly { readonly uid: string; readonly name: string }[];
  readonly large: { readonly uid: string; readonly name: string; readonly versions: number };
  /** Of Java, there. */
  readonly javaNames: readonly string[];
}

/** For each identity of the other benchmarks: 200,000 artifacts with 2,000,000 versions beside 1,000,000. */
const ARTIFACTS = 0.2;
const VERSIONS = 10;
const LARGE = 1000;
const FOLDERS = 20;
/** Published twice are the same bytes, so there are fewer of them than files. */
const BLOBS = 1000;
const SAMPLES = 200;
/** Rows that are made before they are written. */
const PIECE = 500;

export async function serveCatalogue(store: StoreName): Promise<Served<Contents>> {
  const artifacts = Math.max(Math.round(scale.rows * ARTIFACTS), SAMPLES);
  const sources = ["bench/data/rows.ts", "bench/libraries/rows.ts", "bench/libraries/catalogue.ts"];
  const filled = await open(store, { key: `libraries_${artifacts}`, sources, fill: (target) => fill(target, artifacts) });
  return serveFilled(filled);
}

async function fill(target: Target, number: number): Promise<Contents> {
  const started = performance.now();
  const organization = await begin(target);
  const folders = Array.from({ length: FOLDERS }, () => newUid(organization));
  const sink = await openSink(target);
  await insertAll(sink, "group", folders.map(folderRow));
  const digests = Array.from({ length: BLOBS }, (_, i) => digestOf(`${i}`));
  await insertAll(sink, "blob", digests.map(blobRow));
  const planned: PlannedArtifact[] = [];
  const piece: PlannedArtifact[] = [];
  for (let i = 0; i < number; i++) {
    // Every third one is the organization's own.
    const group = i % 3 === 0 ? organization : (folders[i % FOLDERS] ?? organization);
    piece.push(planArtifact(group, i, i === 0 ? LARGE : VERSIONS, i / number));
    if (piece.length < PIECE && i < number - 1) continue;
    await insertPiece(sink, piece, digests);
    planned.push(...piece.splice(0));
  }
  await insertAll(sink, "resource_count", countRows(planned));
  await sink.finish();
  console.log(`  filled ${number} artifacts in ${Math.round((performance.now() - started) / 1000)} s`);
  return contentsOf(planned, organization);
}

async function insertPiece(sink: Sink, piece: readonly PlannedArtifact[], digests: readonly string[]): Promise<void> {
  const rows = piece.flatMap((artifact) => [...versionRows(artifact, digests)]);
  await insertAll(sink, "library_artifact", piece.map(artifactRow));
  await insertAll(
    sink,
    "library_artifact_gram",
    piece.flatMap((artifact) => [...gramRows(artifact)]),
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
  for (const [kind, some] of kinds) {
    const direct = new Map<string, number>();
    for (const { uid } of some) direct.set(parentOf(uid), (direct.get(parentOf(uid)) ?? 0) + 1);
    yield* countsOf(kind, direct);
  }
}

function contentsOf(planned: readonly PlannedArtifact[], organization: string): Contents {
  const own = planned.filter(({ uid }) => parentOf(uid) === organization);
  const some = (ecosystem: Ecosystem) => {
    const all = own.filter((artifact) => artifact.ecosystem === ecosystem && artifact.versions === VERSIONS);
    return all.filter((_, i) => i % Math.ceil(all.length / SAMPLES) === 0);
  };
  const [{ uid, name, versions }] = planned as [PlannedArtifact];
  return {
    artifacts: planned.length,
    versions: planned.reduce((sum, artifact) => sum + artifact.versions, 0),
    projects: some(Ecosystem.PYTHON).map((artifact) => ({ uid: artifact.uid, name: artifact.name })),
    large: { uid, name, versions },
    javaNames: some(Ecosystem.JAVA).map((artifact) => artifact.name),
  };
}
