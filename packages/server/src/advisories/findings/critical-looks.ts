/** Reads which critical vulnerabilities are open in images, for each repo that has them. */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import { parentOf, rangeAtOrBelow } from "../../lib/uid.ts";
import { SEVERITY } from "./finding.ts";
import { type ImageFinding, readImageFindings } from "./image-findings.ts";
import { namesOfRepo } from "./repo-names.ts";
import { applyStatements } from "./statements.ts";

/** Images in repos that are looked at together, and repos of an organization that have the same image. */
const MAX_LOOKS = 500;
const MAX_TAGS = 100;

/** The critical findings of an image in a repo. */
export interface Look {
  readonly imageId: number;
  readonly digest: string;
  readonly repoUid: string;
  readonly group: string;
  /** The empty string if nothing is critical. */
  readonly repository: string;
  /** Digest of the image, if the manifest is an SBOM of it. */
  readonly imageDigest: string;
  /** By vulnerability. */
  readonly critical: ReadonlyMap<string, readonly ImageFinding[]>;
}

/**
 * An image above the limits of a report is left out.
 * @returns undefined if these images have too much for one look; one image never has
 */
export async function lookAtImages(db: ReadDb, orgUid: string, digests: readonly string[]): Promise<Look[] | undefined> {
  const places = await readPlaces(db, orgUid, digests);
  if (places.length > MAX_LOOKS && digests.length > 1) return undefined;
  const all = await withinLimits(readImageFindings(db, { orgUid, digests, minSeverity: SEVERITY.critical }));
  if (all === undefined) return digests.length > 1 ? undefined : [];
  const byDigest = Map.groupBy(all, ({ digest }) => digest);
  const looks: Look[] = [];
  for (const [repoUid, images] of Map.groupBy(places.slice(0, MAX_LOOKS), ({ repo_uid }) => repo_uid)) {
    const findings = images.flatMap(({ digest }) => byDigest.get(digest) ?? []);
    const names = findings.length === 0 ? [] : await namesOfRepo(db, repoUid);
    const stated = await withinLimits(applyStatements(db, findings, { orgUid, names }));
    if (stated === undefined) {
      if (digests.length > 1) return undefined;
      continue;
    }
    const open = Map.groupBy(
      stated.filter(({ detail }) => detail.suppression === undefined),
      ({ digest }) => digest,
    );
    for (const { id, digest, subject } of images) {
      const critical = Map.groupBy(open.get(digest) ?? [], ({ vulnerability }) => vulnerability);
      const repository = names.at(-1) ?? "";
      looks.push({ imageId: id, digest, repoUid, group: parentOf(repoUid), repository, imageDigest: subject ?? digest, critical });
    }
  }
  return looks;
}

interface Place {
  readonly id: number;
  readonly digest: string;
  readonly repo_uid: string;
  readonly subject: string | null;
}

async function readPlaces(db: ReadDb, orgUid: string, digests: readonly string[]): Promise<Place[]> {
  const { lower, upper } = rangeAtOrBelow(orgUid);
  const { rows } = await sql<Place>`select i.id, i.digest, m.repo_uid, m.subject
    from ${db.dialect.valuesOf(digests)} as v cross join matched_image as i cross join manifest as m
    where i.digest = v.value and i.org_uid = ${orgUid} and m.digest = v.value and m.repo_uid >= ${lower} and m.repo_uid < ${upper}
    order by m.repo_uid, i.digest limit ${MAX_LOOKS + 1}`.execute(db);
  return rows;
}

/** Undefined for images that have too many findings or statements for a report: an event would not help either. */
async function withinLimits(reading: Promise<ImageFinding[]>): Promise<readonly ImageFinding[] | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof HoltError && error.code === Code.RESOURCE_EXHAUSTED) return undefined;
    throw error;
  }
}

/** The tags of the images, and of the indexes that contain them. */
export async function readTags(db: ReadDb, looks: readonly Look[]): Promise<ReadonlyMap<Look, readonly string[]>> {
  const given = db.dialect.rowsOf(
    looks.map(({ repoUid, imageDigest }, number) => ({ number, repo_uid: repoUid, digest: imageDigest })),
    { number: "bigint", repo_uid: "text", digest: "text" },
  );
  const { rows } = await sql<{ number: number; name: string }>`select number, name from (
      select found.*, row_number() over (partition by number order by name) as position from (
        select g.number, t.name from ${given} as g cross join tag as t where t.parent = g.repo_uid and t.digest = g.digest
        union select g.number, t.name from ${given} as g cross join index_platform as p cross join tag as t
          where p.manifest_digest = g.digest and t.parent = g.repo_uid and t.digest = p.digest) as found) as ranked
    where position <= ${MAX_TAGS} order by number, name`.execute(db);
  return new Map([...Map.groupBy(rows, ({ number }) => looks[number]!)].map(([look, tags]) => [look, tags.map(({ name }) => name)]));
}
