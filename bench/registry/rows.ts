/** Generates the rows of repos, tags and images for the registry benchmarks. Does not store them. */
import { create } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { newUid, parentOf } from "../../packages/server/src/lib/uid.ts";
import { repos, tags } from "../../packages/server/src/registry/resources.ts";
import { CONFIG, digestOf, LAYER, MANIFEST } from "../../packages/server/test/harness/registry/registry-client.ts";
import { countsOf, type Row, rowOf, timeOf, timesOf } from "../data/rows.ts";

/** @param progress from two years ago (0) to yesterday (1) */
export function repoRow(uid: string, name: string, progress: number): Row {
  const time = timeOf(progress);
  return rowOf(repos, create(RepoSchema, { uid, name, ...timesOf(time) }), time);
}

export function tagRow(repoUid: string, name: string, digest: string, progress: number): Row {
  const time = timeOf(progress);
  return rowOf(tags, create(TagSchema, { uid: newUid(repoUid), name, digest, ...timesOf(time) }), time);
}

/** Count rows for repos with the given numbers of tags. All tags must be plain ones. */
export function* repoCounts(tagsOf: ReadonlyMap<string, number>): Iterable<Row> {
  const direct = new Map<string, number>();
  for (const uid of tagsOf.keys()) direct.set(parentOf(uid), (direct.get(parentOf(uid)) ?? 0) + 1);
  yield* countsOf("repo", direct);
  const tagged = new Map([...tagsOf].filter(([, number]) => number > 0));
  yield* countsOf("tag", tagged);
  yield* countsOf("plain_tag", tagged);
}

export interface Blob {
  readonly digest: string;
  readonly content: Buffer;
}

export function blobOf(string: string): Blob {
  const content = Buffer.from(string);
  return { digest: digestOf(content), content };
}

export interface ImageRows {
  readonly digest: string;
  readonly manifest: Row;
  readonly references: readonly Row[];
  readonly image: Row;
}

/** Rows of a single-platform image as a push stores them. */
export function imageRows(repoUid: string, config: Blob, layers: readonly Blob[], time: string): ImageRows {
  const descriptorOf = (mediaType: string, { digest, content }: Blob) => ({ mediaType, digest, size: content.length });
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: descriptorOf(CONFIG, config),
    layers: layers.map((layer) => descriptorOf(LAYER, layer)),
  };
  const content = Buffer.from(JSON.stringify(manifest));
  const digest = digestOf(content);
  const size = [config, ...layers].reduce((sum, blob) => sum + blob.content.length, 0);
  const times = { create_time: time, touch_time: time };
  const types = { media_type: MANIFEST, artifact_type: null, subject: null };
  const platform = { architecture: "amd64", os: "linux", variant: "" };
  return {
    digest,
    manifest: { repo_uid: repoUid, digest, ...types, size: content.length, ...times, annotations: null, content },
    references: [config, ...layers].map((blob) => {
      return { repo_uid: repoUid, manifest_digest: digest, digest: blob.digest, kind: "blob" };
    }),
    image: { repo_uid: repoUid, digest, ...platform, manifest_digest: digest, config_digest: config.digest, size },
  };
}

export function blobRow({ digest, content }: Blob, time: string): Row {
  return { digest, size: content.length, create_time: time, removal_time: null };
}

export function linkRow(repoUid: string, { digest }: Blob, time: string): Row {
  return { repo_uid: repoUid, digest, touch_time: time };
}
