/** Compares packages with the advisories about them, and stores the vulnerabilities that are open. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { type Break, createBreaks } from "../../jobs/breaks.ts";
import { packageType } from "../export/ecosystems.ts";
import { parseStatementKey } from "../model/statement-key.ts";
import type { MatchedPackageTable } from "../tables.ts";
import { prepareAssessment } from "./assessment.ts";
import { chunkByCandidates, keysOf } from "./candidate-chunks.ts";
import { type Assessments, collectAssessments, findingsOf, joinAssessments, type Unscored, withScores } from "./find.ts";
import type { ComparedPackage, Finding } from "./finding.ts";
import { findChanges, idsOf, isCriticalChange, readOpen, storeChanges } from "./finding-changes.ts";
import { countCandidates, loadCandidates, loadScores, type Roots } from "./load-candidates.ts";
import { applicableRoots, type MatchContext } from "./match-context.ts";
import { type Batch, removeRequests, requestAlerts, requestPackages } from "./requests.ts";
import { requestStatedImages } from "./stated-images.ts";

/**
 * Finds the packages that changed advisories are about, and the images that changed statements can hold in. A public
 * organization's advisories concern the packages of all; its statements about images are its own.
 */
export async function spreadAdvisories(batch: Batch, context: MatchContext): Promise<void> {
  const isPublic = await context.publication.isPublic(context.store.reader, batch.orgUid);
  await context.write(async (db) => {
    const keys = [...(await removeRequests(db, batch))];
    const scopes = keys.flatMap((key) => parseStatementKey(key) ?? []);
    const packages = keys.filter((key) => parseStatementKey(key) === undefined);
    await requestPackages(db, packages, isPublic ? undefined : batch.orgUid);
    await requestStatedImages(db, batch.orgUid, scopes);
  });
}

type MatchedPackage = Pick<MatchedPackageTable, "type" | "version" | "distribution" | "match_name" | "match_origin" | "origin_version"> & {
  readonly id: number;
};

/** Findings that are written per transaction. */
const CHANGES_PER_TRANSACTION = 500;

export async function matchPackages(batch: Batch, context: MatchContext): Promise<void> {
  const { orgUid, requests } = batch;
  const { reader } = context.store;
  const keys = requests.map(({ name }) => name);
  const packages = await packagesOfKeys(reader, orgUid, keys);
  const counts = await countCandidates(reader, packages.flatMap(keysOf));
  for (const chunk of chunkByCandidates(packages, counts)) await compareChunk(chunk, orgUid, context);
  await context.write(async (db) => {
    // A request with another token stays, and its packages are compared again.
    await removeRequests(db, batch);
    await markMatched(db, packages);
  });
}

async function compareChunk(packages: readonly MatchedPackage[], orgUid: string, context: MatchContext): Promise<void> {
  const found = await findAll(packages, orgUid, context);
  const changes = findChanges(found, await readOpen(context.store.reader, packages));
  for (let start = 0; start < changes.length; start += CHANGES_PER_TRANSACTION) {
    const chunk = changes.slice(start, start + CHANGES_PER_TRANSACTION);
    const critical = chunk.filter(isCriticalChange).map(({ packageId }) => packageId);
    // First, because a change that is stored would not be found again after a crash. The looks wait for the comparison anyway.
    await requestAlerts(context, orgUid, [...new Set(critical)]);
    await context.write((db) => storeChanges(db, chunk, context.now()));
  }
}

async function packagesOfKeys(db: ReadDb, orgUid: string, keys: readonly string[]): Promise<MatchedPackage[]> {
  const wanted = db.dialect.valuesOf(keys);
  const columns = sql`p.id, p.type, p.version, p.distribution, p.match_name, p.match_origin, p.origin_version`;
  const { rows } = await sql<MatchedPackage>`
    select ${columns} from ${wanted} as v cross join matched_package as p where p.match_name = v.value and p.org_uid = ${orgUid}
    union select ${columns} from ${wanted} as v cross join matched_package as p where p.match_origin = v.value and p.org_uid = ${orgUid}`.execute(
    db,
  );
  return rows;
}

/** By id of the package. */
async function findAll(
  packages: readonly MatchedPackage[],
  orgUid: string,
  context: MatchContext,
): Promise<ReadonlyMap<number, readonly Finding[]>> {
  const { reader } = context.store;
  const pause = createBreaks();
  const byKey = await collectAll(packages, await applicableRoots(context, reader, orgUid), { reader, pause });
  const unscored = new Map<number, readonly Unscored[]>();
  for (const one of packages) {
    const found: Unscored[] = [];
    const assessments = keysOf(one).map((key) => byKey.get(key)?.get(one) ?? new Map());
    for (const finding of findingsOf(joinAssessments(assessments), orgUid)) {
      if (finding !== undefined) found.push(finding);
      await pause();
    }
    unscored.set(one.id, found);
  }
  const ids = [...unscored.values()].flat().flatMap(({ vulnerability, detail }) => [vulnerability, ...detail.aliases]);
  const cvssOf = await loadScores(reader, ids);
  return new Map([...unscored].map(([id, all]) => [id, all.map((one) => withScores(one, cvssOf))]));
}

/** How advisories assess each package, by the key under which they name it. */
async function collectAll(
  packages: readonly MatchedPackage[],
  roots: Roots,
  { reader, pause }: { readonly reader: ReadDb; readonly pause: Break },
): Promise<ReadonlyMap<string, ReadonlyMap<MatchedPackage, Assessments>>> {
  const byKey = new Map<string, Map<MatchedPackage, Assessments>>();
  for (const one of packages)
    for (const key of keysOf(one)) byKey.set(key, (byKey.get(key) ?? new Map<MatchedPackage, Assessments>()).set(one, new Map()));
  for await (const { key, candidate } of loadCandidates(reader, [...byKey.keys()], roots)) {
    for (const [one, assessments] of byKey.get(key) ?? []) {
      const given = comparedAs(key, one);
      for (const _part of prepareAssessment(candidate, given)) await pause();
      collectAssessments(given, candidate, assessments);
      await pause();
    }
  }
  return byKey;
}

function comparedAs(key: string, one: MatchedPackage): ComparedPackage {
  return { type: packageType(one.type), version: versionFor(key, one), distribution: one.distribution };
}

/** Advisories about a source package mean its versions, which those of its packages may differ from. */
function versionFor(key: string, { match_origin, version, origin_version }: MatchedPackage): string {
  return key === match_origin && origin_version !== "" ? origin_version : version;
}

async function markMatched(db: WriteDb, packages: readonly MatchedPackage[]): Promise<void> {
  await sql`update matched_package set is_matched = 1 where is_matched = 0 and id in (select w.id from ${idsOf(db, packages)} as w)`.execute(
    db,
  );
}
