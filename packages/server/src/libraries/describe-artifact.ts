/** Keeps the summary of an artifact's versions in its row and body: the latest one, their number and the description. */
import { ArtifactSchema } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { WriteDb } from "../db/store.ts";
import { timestampFromDate } from "../lib/clock.ts";
import { messageFromJson } from "../lib/proto-json.ts";
import { artifacts } from "./artifacts-resource.ts";
import { type IndexedArtifact, recountName } from "./name-index.ts";
import type { PublishedVersion } from "./publication.ts";

/** Releases sort after pre-releases, whatever their numbers: a caller that asks for the latest version wants a release. */
export function latestKeyOf({ sortKey, isPreRelease }: Pick<PublishedVersion, "sortKey" | "isPreRelease">): string {
  return (isPreRelease ? "0" : "1") + sortKey;
}

/** @param published a version to which a file was added */
export async function describePublished(
  db: WriteDb,
  uid: string,
  { version, isNew }: { readonly version: PublishedVersion; readonly isNew: boolean },
  now: Date,
): Promise<void> {
  const row = await db
    .selectFrom("library_artifact")
    .select(["body", "latest_sort_key", "remediated", "serial"])
    .where("uid", "=", uid)
    .executeTakeFirstOrThrow();
  const artifact = messageFromJson(ArtifactSchema, row.body);
  const sortKey = latestKeyOf(version);
  const isLatest = sortKey >= row.latest_sort_key;
  const remediated = version.isRemediated ? 1 : row.remediated;
  if (isNew) {
    artifact.versionCount++;
    artifact.updateTime = timestampFromDate(now);
  }
  if (isLatest) artifact.latestVersion = version.text;
  if (isLatest && version.description !== "") artifact.description = version.description;
  await db
    .updateTable("library_artifact")
    .set({
      body: artifacts.encode(artifact),
      latest_sort_key: isLatest ? sortKey : row.latest_sort_key,
      remediated,
      serial: row.serial + 1,
      ...(isNew && { update_time: now.toISOString() }),
    })
    .where("uid", "=", uid)
    .execute();
  await recountName(db, artifact, { before: row.remediated, after: remediated });
}

export interface RemainingVersion {
  readonly uid: string;
  readonly version: string;
  /** See `latestKeyOf`. */
  readonly latestKey: string;
  readonly remediated: number;
  readonly create_time: string;
}

/** @param versions those that are left after a removal, at least one */
export async function describeRemaining(
  db: WriteDb,
  artifact: IndexedArtifact & { readonly remediated: number },
  versions: readonly RemainingVersion[],
): Promise<void> {
  const latest = versions.reduce((best, each) => (each.latestKey > best.latestKey ? each : best));
  const newest = versions.reduce((time, { create_time }) => (create_time > time ? create_time : time), "");
  const remediated = versions.some((version) => version.remediated === 1) ? 1 : 0;
  const { body, serial } = await db
    .selectFrom("library_artifact")
    .select(["body", "serial"])
    .where("uid", "=", artifact.uid)
    .executeTakeFirstOrThrow();
  const { description } = await db
    .selectFrom("library_version")
    .select("description")
    .where("uid", "=", latest.uid)
    .executeTakeFirstOrThrow();
  const message = messageFromJson(ArtifactSchema, body);
  message.latestVersion = latest.version;
  message.versionCount = versions.length;
  message.description = description;
  message.updateTime = timestampFromDate(new Date(newest));
  await db
    .updateTable("library_artifact")
    .set({ body: artifacts.encode(message), latest_sort_key: latest.latestKey, remediated, serial: serial + 1, update_time: newest })
    .where("uid", "=", artifact.uid)
    .execute();
  await recountName(db, artifact, { before: artifact.remediated, after: remediated });
}
