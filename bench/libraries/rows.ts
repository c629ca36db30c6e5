/** Generates the rows of artifacts, versions and files as publishing would store them. Does not store them. */
import { randomBytes } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { ArtifactSchema, Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { mavenSortKey } from "../../packages/server/src/lib/version-order/maven.ts";
import { parsePythonVersion } from "../../packages/server/src/lib/version-order/python.ts";
import { artifacts } from "../../packages/server/src/libraries/artifacts-resource.ts";
import { indexedPartsOf } from "../../packages/server/src/libraries/name-index.ts";
import { type Row, randomName, rowOf, timeOf, timesOf } from "../data/rows.ts";

export interface PlannedArtifact {
  readonly uid: string;
  readonly name: string;
  readonly ecosystem: Ecosystem;
  readonly versions: number;
  /** From two years ago (0) to yesterday (1). */
  readonly progress: number;
}

/** One of 16 artifacts is a Java artifact, one of 100 versions is remediated, and one of 100 Python projects has CUDA builds. */
const JAVA_EVERY = 16;
const REMEDIATED_EVERY = 100;
const CUDA_EVERY = 100;

export function planArtifact(group: string, i: number, versions: number, progress: number): PlannedArtifact {
  const isJava = i % JAVA_EVERY === JAVA_EVERY - 1;
  // The number makes the name unique.
  const project = `${randomName()}-${i.toString(36)}`;
  const name = isJava ? `com.example.${project.split("-")[0]}:${project}` : project;
  return { uid: newUid(group), name, ecosystem: isJava ? Ecosystem.JAVA : Ecosystem.PYTHON, versions, progress };
}

export function artifactRow(artifact: PlannedArtifact): Row {
  const { uid, name, ecosystem, versions, progress } = artifact;
  const last = versionOf(artifact, versions - 1);
  const message = create(ArtifactSchema, {
    uid,
    name,
    ecosystem,
    latestVersion: last.version,
    versionCount: versions,
    description: "A package of the benchmark",
    ...timesOf(timeOf(progress)),
  });
  const isRemediated = Array.from({ length: versions }, (_, i) => versionOf(artifact, i)).some(({ remediated }) => remediated);
  const more = { ecosystem, key: name, latest_sort_key: `1${last.sortKey}`, remediated: isRemediated ? 1 : 0, serial: versions };
  return { ...rowOf(artifacts, message, timeOf(progress)), ...more };
}

export function* gramRows({ uid, name, ecosystem }: PlannedArtifact): Iterable<Row> {
  for (const gram of indexedPartsOf(name)) yield { gram, ecosystem, name: name.toLowerCase(), artifact_uid: uid };
}

interface PlannedVersion {
  readonly version: string;
  readonly sortKey: string;
  readonly cuda: string | null;
  readonly remediated: boolean;
}

/** Deterministic for an artifact and an index. */
function versionOf({ name, ecosystem }: PlannedArtifact, i: number): PlannedVersion {
  const seed = [...name].reduce((sum, character) => sum + character.charCodeAt(0), i);
  const remediated = seed % REMEDIATED_EVERY === 0;
  const number = `${1 + Math.floor(i / 10)}.${i % 10}`;
  if (ecosystem === Ecosystem.JAVA) {
    const version = remediated ? `${number}-holt-1` : number;
    return { version, sortKey: mavenSortKey(version), cuda: null, remediated };
  }
  const isCuda = (seed - i) % CUDA_EVERY === 1 && i % 2 === 1;
  const version = remediated ? `${number}+holt.1` : isCuda ? `${number}+cu121` : number;
  return { version, sortKey: parsePythonVersion(version)?.sortKey ?? "", cuda: isCuda ? "12.1" : null, remediated };
}

const SIZE_BYTES = 100_000;

/** Each version of an artifact with its file. */
export function* versionRows(artifact: PlannedArtifact, digests: readonly string[]): Iterable<{ version: Row; file: Row }> {
  for (let i = 0; i < artifact.versions; i++) {
    const { version, sortKey, cuda, remediated } = versionOf(artifact, i);
    const uid = newUid(artifact.uid);
    const time = timeOf((artifact.progress * (i + 1)) / artifact.versions).toISOString();
    const digest = digests[(i + artifact.name.length) % digests.length] ?? "";
    yield {
      version: {
        uid,
        artifact_uid: artifact.uid,
        version,
        sort_key: sortKey,
        create_time: time,
        update_time: time,
        description: "A package of the benchmark",
        size_bytes: SIZE_BYTES,
        cuda_version: cuda,
        remediated: remediated ? 1 : 0,
        yank_time: null,
        yank_reason: "",
      },
      file: {
        artifact_uid: artifact.uid,
        version_uid: uid,
        digest,
        size: SIZE_BYTES,
        create_time: time,
        actor: "bench",
        ...fileOf(artifact, version),
        sha1: randomHex(20),
        md5: randomHex(16),
        sha512: randomHex(64),
      },
    };
  }
}

function fileOf({ name, ecosystem }: PlannedArtifact, version: string): { path: string; metadata: string } {
  if (ecosystem === Ecosystem.JAVA) return { path: `${version}/${name.split(":")[1]}-${version}.jar`, metadata: "{}" };
  const coreMetadata = { sha256: randomHex(32), size: 2000, start: 1000, end: 1999, isDeflated: true };
  const path = `${name.replaceAll("-", "_")}-${version}-py3-none-any.whl`;
  return { path, metadata: JSON.stringify({ requiresPython: ">=3.9", coreMetadata }) };
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
