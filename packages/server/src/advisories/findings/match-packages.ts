/** Compares packages with the advisories about them, and stores the vulnerabilities that are open. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { packageType } from "../export/ecosystems.ts";
import type { MatchedPackageTable } from "../tables.ts";
import { findVulnerabilities, type Unscored, withScores } from "./find.ts";
import { type Finding, SEVERITY } from "./finding.ts";
import { loadCandidates, loadScores } from "./load-candidates.ts";
import { applicableRoots, type MatchContext } from "./match-context.ts";
import { type Batch, removeRequests, requestAlerts, requestPackages } from "./requests.ts";

/** Finds the packages that changed advisories are about; a public organization's advisories concern those of all. */
export async function spreadAdvisories(batch: Batch, context: MatchContext): Promise<void> {
  const isPublic = await context.publication.isPublic(context.store.reader, batch.orgUid);
  await context.write(async (db) => {
    const keys = [...(await removeRequests(db, batch))];
    await requestPackages(db, keys, isPublic ? undefined : batch.orgUid);
  });
}

type MatchedPackage = Pick<MatchedPackageTable, "type" | "version" | "distribution" | "match_name" | "match_origin"> & {
  readonly id: number;
};

export async function matchPackages(batch: Batch, context: MatchContext): Promise<void> {
  const { orgUid, requests } = batch;
  const { reader } = context.store;
  const packages = await packagesOfKeys(
    reader,
    orgUid,
    requests.map(({ name }) => name),
  );
  const found = await findAll(packages, orgUid, context);
  await context.write(async (db) => {
    const done = await removeRequests(db, batch);
    const isDone = ({ match_name, match_origin }: MatchedPackage) => done.has(match_name) || done.has(match_origin);
    const current = packages.filter(isDone);
    const changed = await storeFindings(db, { packages: current, found, time: context.now() });
    await requestAlerts(db, orgUid, changed);
  });
}

async function packagesOfKeys(db: ReadDb, orgUid: string, keys: readonly string[]): Promise<MatchedPackage[]> {
  const wanted = db.dialect.valuesOf(keys);
  const columns = sql`p.id, p.type, p.version, p.distribution, p.match_name, p.match_origin`;
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
  const keys = [...new Set(packages.flatMap(({ match_name, match_origin }) => [match_name, match_origin]))];
  const candidates = await loadCandidates(reader, keys, await applicableRoots(context, reader, orgUid));
  const unscored = new Map<number, readonly Unscored[]>();
  for (const { id, type, version, distribution, match_name, match_origin } of packages) {
    const about = [...new Set([match_name, match_origin])].flatMap((key) => candidates.get(key) ?? []);
    unscored.set(id, findVulnerabilities({ type: packageType(type), version, distribution }, { orgUid, candidates: about }));
    // A package can have thousands of advisories.
    await setImmediate();
  }
  const ids = [...unscored.values()].flat().flatMap(({ vulnerability, detail }) => [vulnerability, ...detail.aliases]);
  const cvssOf = await loadScores(reader, ids);
  return new Map([...unscored].map(([id, all]) => [id, all.map((one) => withScores(one, cvssOf))]));
}

interface NewFindings {
  readonly packages: readonly MatchedPackage[];
  readonly found: ReadonlyMap<number, readonly Finding[]>;
  readonly time: Date;
}

interface StoredFinding {
  readonly package_id: number;
  readonly vulnerability: string;
  readonly open_time: string;
  readonly severity: number;
  readonly is_suppressed: number;
  readonly detail: string;
}

/** @returns ids of the packages whose open critical findings changed */
async function storeFindings(db: WriteDb, { packages, found, time }: NewFindings): Promise<number[]> {
  const ids = packages.map(({ id }) => ({ id }));
  const wanted = db.dialect.rowsOf(ids, { id: "bigint" });
  const { rows } = await sql<StoredFinding>`
    select f.package_id, f.vulnerability, f.open_time, f.severity, f.is_suppressed, f.detail from ${wanted} as w
      cross join finding as f where f.package_id = w.id and f.close_time is null`.execute(db);
  const before = new Map(rows.map((row) => [`${row.package_id} ${row.vulnerability}`, row]));
  const critical = new Set<number>();
  for (const { id } of packages) {
    for (const finding of found.get(id) ?? []) {
      const key = `${id} ${finding.vulnerability}`;
      const known = before.get(key);
      before.delete(key);
      if (await storeFinding(db, { packageId: id, finding, known, time })) critical.add(id);
    }
  }
  for (const gone of before.values()) {
    await closeFinding(db, gone, time);
    if (isCritical(gone)) critical.add(gone.package_id);
  }
  await sql`update matched_package set is_matched = 1 where is_matched = 0 and id in (select w.id from ${wanted} as w)`.execute(db);
  return [...critical];
}

interface FindingChange {
  readonly packageId: number;
  readonly finding: Finding;
  /** Undefined for a new one. */
  readonly known: StoredFinding | undefined;
  readonly time: Date;
}

/** @returns whether an open critical finding appeared or vanished */
async function storeFinding(db: WriteDb, { packageId, finding, known, time }: FindingChange): Promise<boolean> {
  const { vulnerability, severity, detail } = finding;
  const text = JSON.stringify(detail);
  const is_suppressed = detail.suppression === undefined ? 0 : 1;
  const isSame = known?.severity === severity && known.is_suppressed === is_suppressed;
  if (known !== undefined && isSame) {
    if (known.detail !== text) await replaceDetail(db, known, text);
    return false;
  }
  const open_time = known === undefined ? time.toISOString() : await closeFinding(db, known, time);
  const row = { package_id: packageId, vulnerability, open_time, close_time: null, severity, is_suppressed, detail: text };
  await db
    .insertInto("finding")
    .values(row)
    .onConflict((conflict) => conflict.columns(["package_id", "vulnerability", "open_time"]).doUpdateSet(row))
    .execute();
  return isCritical(row) || (known !== undefined && isCritical(known));
}

function isCritical({ severity, is_suppressed }: Pick<StoredFinding, "severity" | "is_suppressed">): boolean {
  return severity === SEVERITY.critical && is_suppressed === 0;
}

async function replaceDetail(db: WriteDb, { package_id, vulnerability, open_time }: StoredFinding, detail: string): Promise<void> {
  await db
    .updateTable("finding")
    .set({ detail })
    .where("package_id", "=", package_id)
    .where("vulnerability", "=", vulnerability)
    .where("open_time", "=", open_time)
    .execute();
}

/** @returns the time of closing, which is later than that of opening even if the clock went back */
async function closeFinding(db: WriteDb, { package_id, vulnerability, open_time }: StoredFinding, time: Date): Promise<string> {
  const close_time = new Date(Math.max(time.getTime(), Date.parse(open_time) + 1)).toISOString();
  await db
    .updateTable("finding")
    .set({ close_time })
    .where("package_id", "=", package_id)
    .where("vulnerability", "=", vulnerability)
    .where("open_time", "=", open_time)
    .execute();
  return close_time;
}
