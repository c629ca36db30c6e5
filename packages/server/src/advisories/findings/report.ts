/** Reads what is open and suppressed in an image, per platform. */
import type { ReadDb } from "../../db/store.ts";
import { type Break, createBreaks, mapWithBreaks, sortWithBreaks } from "../../jobs/breaks.ts";
import { resourceExhausted } from "../../lib/errors.ts";
import { assertFewImages, MAX_IMAGES_OF_INDEX, platformName } from "../../lib/image-platform.ts";
import { rootOf } from "../../lib/uid.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import { readImageSources } from "../reports/image-sources.ts";
import { type ImageFinding, MAX_FINDINGS, type MatchState, readImageFindings, readMatchState } from "./image-findings.ts";
import { namesOfRepo } from "./repo-names.ts";
import { applyStatements } from "./statements.ts";

export interface ReportedFinding extends ImageFinding {
  readonly imageDigest: string;
  /** Such as `linux/arm64`; empty if unknown. */
  readonly platform: string;
  /** Sorts like the report: the most severe first. */
  readonly position: string;
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
  const pause = createBreaks();
  const findings = await findingsOfAll(platforms, stated, pause);
  const state = await readMatchState(db, orgUid, digests);
  return { findings: await sortWithBreaks(findings, (a, b) => compareTexts(a.position, b.position), pause), state };
}

/** Repeats a finding for each platform that has it. @throws RESOURCE_EXHAUSTED if that makes more than MAX_FINDINGS */
async function findingsOfAll(
  platforms: readonly PlatformSources[],
  found: readonly ImageFinding[],
  pause: Break,
): Promise<ReportedFinding[]> {
  const keyed = await mapWithBreaks(found, (finding): KeyedFinding => ({ finding, key: keyOf(finding) }), pause);
  const bySource = Map.groupBy(keyed, ({ finding }) => finding.digest);
  const findings: ReportedFinding[] = [];
  for (const platform of platforms) {
    for (const { finding, key } of findingsOf(platform, bySource)) {
      if (findings.length === MAX_FINDINGS)
        throw resourceExhausted(`the platforms together have more than ${MAX_FINDINGS} findings; request one of them by its digest`);
      findings.push(reported(finding, key, platform));
      await pause();
    }
  }
  return findings;
}

interface KeyedFinding {
  readonly finding: ImageFinding;
  readonly key: string;
}

function findingsOf({ digest, sources }: PlatformSources, bySource: ReadonlyMap<string, readonly KeyedFinding[]>): Iterable<KeyedFinding> {
  const unique = new Map<string, KeyedFinding>();
  for (const source of sources) {
    for (const keyed of bySource.get(source) ?? []) {
      // A database and an SBOM often name the same package.
      if (source === digest || !unique.has(keyed.key)) unique.set(keyed.key, keyed);
    }
  }
  return unique.values();
}

function keyOf({ vulnerability, type, name, version }: ImageFinding): string {
  return [vulnerability, type, name, version].join("\0");
}

function reported(finding: ImageFinding, key: string, { digest: imageDigest, platform }: PlatformSources): ReportedFinding {
  const position = `${9 - finding.severity}${[key, platform, imageDigest].join("\0")}`;
  return { ...finding, imageDigest, platform, position };
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
    .limit(MAX_IMAGES_OF_INDEX + 1)
    .execute();
  assertFewImages(rows);
  const images =
    rows.length === 0 ? [{ digest, platform: "" }] : rows.map((row) => ({ digest: row.manifest_digest, platform: platformName(row) }));
  const [whole = [], ...own] = await readImageSources(
    [{ repo_uid: repoUid, digest }, ...images.map((one) => ({ repo_uid: repoUid, digest: one.digest }))],
    db,
  );
  const ofOne = new Set([...own.flat(), ...images.map((image) => image.digest)]);
  // A document that is attached to the index describes all its images.
  const shared = whole.filter((each) => !ofOne.has(each));
  return images.map((image, index) => ({ ...image, sources: new Set([image.digest, ...(own[index] ?? []), ...shared]) }));
}
