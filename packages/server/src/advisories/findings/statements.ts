/**
 * Applies statements of an organization about a component: of one of its images, or of another package in the image.
 * They suppress findings of some images only, so they are applied when findings are read.
 */
import { sql } from "kysely";
import type { ReadDb } from "../../db/store.ts";
import { packageType } from "../export/ecosystems.ts";
import { publishedAdvisory } from "../export/published-advisory.ts";
import { packageKey } from "../model/package-key.ts";
import type { Candidate } from "./claims.ts";
import { claimOf } from "./claims.ts";
import type { Suppression } from "./finding.ts";
import type { ImageFinding } from "./image-findings.ts";

/** The image that the findings are of. */
export interface StatedImage {
  readonly orgUid: string;
  /** The repo's name, alone and with its folders and organization. */
  readonly names: readonly string[];
}

/** Types of artifacts that are images. */
const IMAGE_TYPES: ReadonlySet<string> = new Set(["oci", "docker", "image", "container"]);

interface StatementRow {
  readonly alias: string;
  readonly artifact_type: string;
  readonly artifact_name: string;
  readonly component_type: string;
  readonly component_name: string;
  readonly body: string;
}

/** @param images by digest of the manifest. A finding of another manifest stays as it is */
export async function applyStatements(db: ReadDb, findings: readonly ImageFinding[], image: StatedImage): Promise<ImageFinding[]> {
  const open = findings.filter(({ detail }) => detail.suppression === undefined);
  const rows = open.length === 0 ? [] : await readStatements(db, open, image.orgUid);
  if (rows.length === 0) return [...findings];
  const carriers = await readCarriers(db, rows, image.orgUid, findings);
  const byAlias = Map.groupBy(rows, ({ alias }) => alias);
  return findings.map((finding) => {
    if (finding.detail.suppression !== undefined) return finding;
    const about = [finding.vulnerability, ...finding.detail.aliases].flatMap((id) => byAlias.get(id) ?? []);
    const suppression = about.map((row) => suppressionBy(row, finding, image, carriers)).find((found) => found !== undefined);
    return suppression === undefined ? finding : { ...finding, detail: { ...finding.detail, suppression } };
  });
}

/** Advisories of the organization about images, and about components of packages, that concern the vulnerabilities. */
async function readStatements(db: ReadDb, findings: readonly ImageFinding[], orgUid: string): Promise<StatementRow[]> {
  const ids = [...new Set(findings.flatMap(({ vulnerability, detail }) => [vulnerability, ...detail.aliases]))].sort();
  const isStatement = sql`(a.component_name <> '' or a.artifact_type in (${sql.join([...IMAGE_TYPES])})) and a.resolutions <> ''`;
  const { rows } = await sql<StatementRow>`
    select l.alias, a.artifact_type, a.artifact_name, a.component_type, a.component_name, a.body
    from ${db.dialect.valuesOf(ids)} as v cross join advisory_alias as l cross join advisory as a
    where l.alias = v.value and l.advisory_uid >= ${orgUid} and l.advisory_uid < ${`${orgUid}0`} and a.uid = l.advisory_uid
      and a.delete_time is null and ${isStatement} order by a.uid`.execute(db);
  return rows;
}

/** A package of the image that an advisory names as its artifact. */
interface Carrier {
  readonly digest: string;
  readonly key: string;
  readonly type: string;
  readonly version: string;
  readonly distribution: string;
}

async function readCarriers(
  db: ReadDb,
  rows: readonly StatementRow[],
  orgUid: string,
  findings: readonly ImageFinding[],
): Promise<Carrier[]> {
  const packages = rows.filter(({ artifact_type }) => !IMAGE_TYPES.has(artifact_type.toLowerCase()));
  const keys = [...new Set(packages.map(({ artifact_type, artifact_name }) => packageKey(artifact_type, artifact_name)))];
  if (keys.length === 0) return [];
  const digests = db.dialect.valuesOf([...new Set(findings.map(({ digest }) => digest))]);
  const carried = (column: string) => sql`select i.digest, v.value as key, p.type, p.version, p.distribution
    from ${db.dialect.valuesOf(keys)} as v cross join matched_package as p cross join ${digests} as d cross join matched_image as i
    where ${sql.ref(`p.${column}`)} = v.value and p.org_uid = ${orgUid} and i.digest = d.value and i.org_uid = ${orgUid}
      and exists (select 1 from matched_image_package as l where l.image_id = i.id and l.package_id = p.id)`;
  return (await sql<Carrier>`${carried("match_name")} union ${carried("match_origin")}`.execute(db)).rows;
}

function suppressionBy(
  row: StatementRow,
  finding: ImageFinding,
  image: StatedImage,
  carriers: readonly Carrier[],
): Suppression | undefined {
  if (row.component_name !== "") {
    const component = packageKey(row.component_type || finding.type, row.component_name);
    if (component !== finding.matchName && component !== finding.matchOrigin) return undefined;
  }
  const advisory = publishedAdvisory(row.body);
  if (advisory === undefined) return undefined;
  const candidate: Candidate = { advisory, affected: undefined, distribution: undefined };
  const isImage = IMAGE_TYPES.has(row.artifact_type.toLowerCase());
  // The versions of images have no order, so only a statement about all versions counts.
  const targets = isImage
    ? image.names.includes(row.artifact_name)
      ? [{ type: packageType(row.artifact_type), version: "", distribution: "" }]
      : []
    : carriers.filter(({ digest, key }) => digest === finding.digest && key === packageKey(row.artifact_type, row.artifact_name));
  const claims = targets.map((target) => claimOf(candidate, { ...target, type: packageType(target.type) }));
  // Several versions of the package may be in the image.
  const [claim] = claims;
  if (claim === undefined || claims.some((each) => each === undefined || each.kind === "affected") || claim.kind === "affected")
    return undefined;
  return { status: claim.kind, justification: claim.justification, note: claim.note, advisory: advisory.uid };
}
