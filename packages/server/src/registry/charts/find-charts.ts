/** Finds charts: the archive in a chart's manifest, and the charts that use the images of a repo. */
import type { ChartImageRequirement } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { isDigest } from "../../blobs/digest.ts";
import type { BlobStore } from "../../blobs/store.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { rootOf } from "../../lib/uid.ts";
import { findBlob, type RepoBlob } from "../content/blob-file.ts";
import type { Descriptor, Manifest } from "../content/manifest.ts";
import { manifestParser } from "../content/manifest-parsers.ts";
import type { ChartImage } from "./chart-images.ts";
import { repositoryOf } from "./image-repository.ts";

const CONFIG = "application/vnd.cncf.helm.config.v1+json";
const ARCHIVE = /^application\/(?:vnd\.cncf\.helm\.chart\.content\.v1\.tar\+gzip|tar\+gzip)$/;
/** Chart versions that are read for one answer. */
const MAX_CHARTS = 10_000;

/** The archive of a chart; undefined for other manifests. */
export function chartArchiveOf({ config, layers }: Pick<Manifest, "config" | "layers">): Descriptor | undefined {
  return config?.mediaType === CONFIG ? layers.find(({ mediaType }) => ARCHIVE.test(mediaType)) : undefined;
}

export interface ChartSources {
  readonly db: ReadDb;
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
}

/** The archive of the chart. Undefined unless the digest is a chart in the repo. */
export async function findChart(repoUid: string, digest: string, { db, parsers }: ChartSources): Promise<RepoBlob | undefined> {
  if (!isDigest(digest)) return undefined;
  const query = db.selectFrom("manifest").select(["content", "media_type"]).where("repo_uid", "=", repoUid);
  const row = await query.where("digest", "=", digest).executeTakeFirst();
  if (row === undefined) return undefined;
  const read = await parsers.run(manifestParser, { content: row.content, contentType: row.media_type }, repoUid);
  const archive = "manifest" in read ? chartArchiveOf(read.manifest) : undefined;
  return archive && findBlob(db, repoUid, archive.digest);
}

/** Records the repositories whose images a pushed chart uses. */
export async function recordChartImages(
  db: WriteDb,
  { repoUid, digest }: { readonly repoUid: string; readonly digest: string },
  images: readonly ChartImage[],
): Promise<void> {
  const requirements = new Map<string, number>();
  for (const { image, requirement } of images) {
    const repository = repositoryOf(image);
    const known = requirements.get(repository ?? "");
    // Required comes before optional, and both come before unspecified.
    if (repository !== undefined && (known === undefined || rank(requirement) < rank(known))) requirements.set(repository, requirement);
  }
  if (requirements.size === 0) return;
  const rows = [...requirements].map(([repository, requirement]) => ({
    repo_uid: repoUid,
    manifest_digest: digest,
    org_uid: rootOf(repoUid),
    repository,
    requirement,
  }));
  await db
    .insertInto("chart_image")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function rank(requirement: number): number {
  return requirement === 0 ? Number.POSITIVE_INFINITY : requirement;
}

/** A chart that uses images of a repo. */
export interface BoundChart {
  readonly repoUid: string;
  /** Digest of the chart's manifest. */
  readonly digest: string;
  readonly requirement: ChartImageRequirement;
}

/**
 * The charts in the organization that name one of the repositories, the newest first.
 * @param repositories with the registry, as images name them
 */
export async function findChartsOf(db: ReadDb, orgUid: string, repositories: readonly string[]): Promise<BoundChart[]> {
  const rows = await db
    .selectFrom("chart_image as c")
    .innerJoin("manifest as m", (join) => join.onRef("m.repo_uid", "=", "c.repo_uid").onRef("m.digest", "=", "c.manifest_digest"))
    .select(["c.repo_uid as repoUid", "c.manifest_digest as digest", "c.requirement as requirement"])
    .where("c.org_uid", "=", orgUid)
    .where("c.repository", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(repositories).as("v")).select("v.value"))
    .orderBy("m.create_time", "desc")
    .orderBy("c.manifest_digest")
    .limit(MAX_CHARTS)
    .execute();
  return rows.map((row) => ({ ...row, requirement: row.requirement as ChartImageRequirement }));
}
