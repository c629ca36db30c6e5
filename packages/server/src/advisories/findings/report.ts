/** Reads what is open and suppressed in an image, per platform. */
import type { ReadDb } from "../../db/store.ts";
import { rootOf } from "../../lib/uid.ts";
import { readImageSources } from "../reports/image-sources.ts";
import { type ImageFinding, type MatchState, readImageFindings, readMatchState } from "./image-findings.ts";
import { namesOfRepo } from "./repo-names.ts";
import { applyStatements } from "./statements.ts";

export interface ReportedFinding extends ImageFinding {
  readonly imageDigest: string;
  /** Such as `linux/arm64`; empty if unknown. */
  readonly platform: string;
}

export interface ImageReport {
  /** The most severe first. */
  readonly findings: readonly ReportedFinding[];
  readonly state: MatchState;
}

interface PlatformSources {
  readonly digest: string;
  readonly platform: string;
  /** Digests of the manifests whose packages are in the image. */
  readonly sources: ReadonlySet<string>;
}

/** Undefined if the repo does not have the manifest. */
export async function readReport(db: ReadDb, repoUid: string, digest: string): Promise<ImageReport | undefined> {
  const manifest = await db
    .selectFrom("manifest")
    .select("digest")
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .executeTakeFirst();
  if (manifest === undefined) return undefined;
  const orgUid = rootOf(repoUid);
  const platforms = await readPlatforms(db, repoUid, digest);
  const digests = [...new Set(platforms.flatMap(({ sources }) => [...sources]))];
  const stated = await applyStatements(db, await readImageFindings(db, { orgUid, digests }), {
    orgUid,
    names: await namesOfRepo(db, repoUid),
  });
  const findings = platforms.flatMap((platform) => findingsOf(platform, stated));
  const state = await readMatchState(db, orgUid, digests);
  return { findings: findings.sort(bySeverity), state };
}

function findingsOf({ digest: imageDigest, platform, sources }: PlatformSources, all: readonly ImageFinding[]): ReportedFinding[] {
  const unique = new Map<string, ReportedFinding>();
  for (const finding of all) {
    if (!sources.has(finding.digest)) continue;
    // A database and an SBOM often name the same package.
    const key = [finding.type, finding.name, finding.version, finding.vulnerability].join("\0");
    const known = unique.get(key);
    if (known === undefined || finding.digest === imageDigest) unique.set(key, { ...finding, imageDigest, platform });
  }
  return [...unique.values()];
}

export function bySeverity(a: ReportedFinding, b: ReportedFinding): number {
  return b.severity - a.severity || compareTexts(keyOfFinding(a), keyOfFinding(b));
}

/** The position of a finding among those of the same severity. */
export function keyOfFinding({ vulnerability, type, name, version, platform, imageDigest }: ReportedFinding): string {
  return [vulnerability, type, name, version, platform, imageDigest].join("\0");
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

async function readPlatforms(db: ReadDb, repoUid: string, digest: string): Promise<PlatformSources[]> {
  const rows = await db
    .selectFrom("image")
    .select(["manifest_digest", "os", "architecture", "variant"])
    .where("repo_uid", "=", repoUid)
    .where("digest", "=", digest)
    .orderBy("architecture")
    .orderBy("os")
    .orderBy("variant")
    .execute();
  const images =
    rows.length === 0 ? [{ digest, platform: "" }] : rows.map((row) => ({ digest: row.manifest_digest, platform: platformOf(row) }));
  const [whole = [], ...own] = await readImageSources(
    [{ repo_uid: repoUid, digest }, ...images.map((one) => ({ repo_uid: repoUid, digest: one.digest }))],
    db,
  );
  const ofOne = new Set([...own.flat(), ...images.map((image) => image.digest)]);
  // What is attached to the index describes all its images.
  const shared = whole.filter((each) => !ofOne.has(each));
  return images.map((image, index) => ({ ...image, sources: new Set([image.digest, ...(own[index] ?? []), ...shared]) }));
}

function platformOf({ os, architecture, variant }: { os: string; architecture: string; variant: string }): string {
  return [os, architecture, variant].filter((part) => part !== "").join("/");
}
