/**
 * Applies statements of an organization about a component: of one of its images, or of another package in the image.
 * They suppress findings of some images only, so they are applied when findings are read.
 */
import type { ReadDb } from "../../db/store.ts";
import { createBreaks, mapWithBreaks } from "../../jobs/breaks.ts";
import { packageType } from "../export/ecosystems.ts";
import type { PublishedAdvisory } from "../export/published-advisory.ts";
import { packageKey } from "../model/package-key.ts";
import { assess } from "./assessment.ts";
import type { ComparedPackage, Suppression } from "./finding.ts";
import type { ImageFinding } from "./image-findings.ts";
import {
  type Carrier,
  isAboutImage,
  readAdvisories,
  readCarriers,
  readStatements,
  type StatedImage,
  type StatementRow,
} from "./statement-rows.ts";
import { SuppressionIndex, type SuppressionScope } from "./suppression-index.ts";

/** @param image by digest of the manifest. A finding of another manifest stays as it is */
export async function applyStatements(db: ReadDb, findings: readonly ImageFinding[], image: StatedImage): Promise<ImageFinding[]> {
  const open = findings.filter(({ detail }) => detail.suppression === undefined);
  const rows = open.length === 0 ? [] : await readStatements(db, open, image);
  if (rows.length === 0) return [...findings];
  const carriers = byKeyAndDigest(await readCarriers(db, rows, { orgUid: image.orgUid, findings: open }));
  const index = new SuppressionIndex(open);
  const byUid = Map.groupBy(rows, ({ uid }) => uid);
  const pause = createBreaks();
  for await (const advisory of readAdvisories(db, [...byUid.keys()].sort())) {
    const [first, ...others] = byUid.get(advisory.uid) ?? [];
    if (first === undefined) continue;
    const scope = scopeOf(advisory, first, carriers);
    if (scope !== undefined) for (const row of [first, ...others]) index.add(row, scope);
    await pause();
  }
  return mapWithBreaks(findings, (finding) => withSuppression(finding, index), pause);
}

function withSuppression(finding: ImageFinding, index: SuppressionIndex): ImageFinding {
  if (finding.detail.suppression !== undefined) return finding;
  const suppression = index.find(finding);
  return suppression === undefined ? finding : { ...finding, detail: { ...finding.detail, suppression } };
}

type Carriers = ReadonlyMap<string, ReadonlyMap<string, readonly Carrier[]>>;

function byKeyAndDigest(carriers: readonly Carrier[]): Carriers {
  const byKey = Map.groupBy(carriers, ({ key }) => key);
  return new Map([...byKey].map(([key, ofKey]) => [key, Map.groupBy(ofKey, ({ digest }) => digest)]));
}

/** Undefined if the advisory suppresses nothing. */
function scopeOf(advisory: PublishedAdvisory, row: StatementRow, carriers: Carriers): SuppressionScope | undefined {
  const { artifact_type: type, artifact_name: name } = row;
  // The versions of images have no order, so only a statement about all versions counts.
  if (isAboutImage(row)) return suppressionBy(advisory, [{ type, version: "", distribution: "" }]);
  const scope = new Map<string, Suppression>();
  for (const [digest, carrying] of carriers.get(packageKey(type, name)) ?? []) {
    const suppression = suppressionBy(advisory, carrying);
    if (suppression !== undefined) scope.set(digest, suppression);
  }
  return scope.size === 0 ? undefined : scope;
}

/** @param targets versions of one package: several may be in the image, and the statement must suppress all */
function suppressionBy(advisory: PublishedAdvisory, targets: readonly ComparedPackage[]): Suppression | undefined {
  let suppression: Suppression | undefined;
  for (const { type, version, distribution } of targets) {
    const candidate = { advisory, affected: undefined, distribution: undefined };
    const assessment = assess(candidate, { type: packageType(type), version, distribution });
    if (assessment === undefined || assessment.kind === "affected") return undefined;
    suppression ??= { status: assessment.kind, justification: assessment.justification, note: assessment.note, advisory: advisory.uid };
  }
  return suppression;
}
