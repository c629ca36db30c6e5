/**
 * Fills an organization with images that are rebuilt daily for two platforms. Each build updates a few packages, and
 * packages have advisories.
 */
import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { repos } from "../../packages/server/src/registry/resources.ts";
import { insertAll, type Sink } from "../data/fill.ts";
import { countsOf, type Row, rowOf, timesOf } from "../data/rows.ts";
import { nameOf } from "./sample.ts";

const IMAGES = 20;
const DAYS = 30;
const PACKAGES = 100;
/** Fraction of the packages that are updated per day. */
const UPDATED_FRACTION = 0.05;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_REVISION_STEP = 4;

export interface FilledImages {
  readonly repos: readonly string[];
  /** First and last day on which the images changed. */
  readonly start: string;
  readonly end: string;
}

export async function fillImages(sink: Sink, organization: string): Promise<FilledImages> {
  const today = Math.floor(Date.now() / DAY_MS);
  const uids = Array.from({ length: IMAGES }, () => newUid(organization));
  const time = new Date((today - DAYS - 1) * DAY_MS);
  await insertAll(
    sink,
    "repo",
    uids.map((uid, i) => rowOf(repos, create(RepoSchema, { uid, name: `image-${i}`, ...timesOf(time) }), time)),
  );
  await insertAll(sink, "resource_count", countsOf("repo", new Map([[organization, IMAGES]])));
  for (const repo of uids) {
    const packages = new Map(Array.from({ length: PACKAGES }, () => [nameOf(Math.floor(2000 * Math.random())), 0]));
    // A report also needs the day before its first day.
    for (let day = today - DAYS - 1; day < today; day++) await fillDay(sink, repo, day, packages);
  }
  const startOf = (day: number) => new Date(day * DAY_MS).toISOString();
  return { repos: uids.map((_, i) => `image-${i}`), start: startOf(today - DAYS), end: startOf(today - 1) };
}

async function fillDay(sink: Sink, repo: string, day: number, packages: Map<string, number>): Promise<void> {
  for (const [name, revision] of packages)
    if (Math.random() < UPDATED_FRACTION) packages.set(name, revision + 1 + Math.floor(MAX_REVISION_STEP * Math.random()));
  const digest = digestOf(`${repo} ${day}`);
  const time = new Date(day * DAY_MS + DAY_MS / 4).toISOString();
  await insertAll(sink, "tag_history", [{ repo_uid: repo, tag: "latest", digest, time, actor: "" }]);
  for (const architecture of ["x86_64", "aarch64"]) {
    const image = digestOf(`${digest} ${architecture}`);
    await insertAll(sink, "index_platform", [{ digest, manifest_digest: image }]);
    await insertAll(sink, "image_scan", [
      { digest: image, state: "done", attempts: 1, distribution: "bench", error: "", package_count: packages.size },
    ]);
    await insertAll(sink, "image_package", rowsOf(image, architecture, packages));
  }
}

function* rowsOf(digest: string, architecture: string, packages: ReadonlyMap<string, number>): Iterable<Row> {
  for (const [name, revision] of packages) {
    const source = { location: "lib/apk/db/installed", source: "image", purl: "" };
    yield { digest, type: "apk", name, version: `1.2.3-r${revision}`, architecture, origin: name, ...source };
  }
}

function digestOf(content: string): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
