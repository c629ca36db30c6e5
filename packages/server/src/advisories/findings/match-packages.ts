/** Compares packages with the advisories about them, and stores the vulnerabilities that are open. */
import { setImmediate } from "node:timers/promises";
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { packageType } from "../export/ecosystems.ts";
import { insertRows } from "../storage/insert-rows.ts";
import type { FindingTable, MatchedPackageTable } from "../tables.ts";
import { type Claims, collectClaims, findingsOf, type Unscored, withScores } from "./find.ts";
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

/** Findings that are written per transaction. */
const CHANGES_PER_TRANSACTION = 500;
/** Advisories that are compared between other requests. */
const CANDIDATES_PER_TURN = 500;

export async function matchPackages(batch: Batch, context: MatchContext): Promise<void> {
  const { orgUid, requests } = batch;
  const { reader } = context.store;
  const keys = requests.map(({ name }) => name);
  const packages = await packagesOfKeys(reader, orgUid, keys);
  const found = await findAll(packages, orgUid, context);
  const changes = findChanges(found, await readOpen(reader, packages));
  for (let start = 0; start < changes.length; start += CHANGES_PER_TRANSACTION) {
    const chunk = changes.slice(start, start + CHANGES_PER_TRANSACTION);
    await context.write(async (db) => {
      await storeChanges(db, chunk, context.now());
      const critical = chunk.filter(isCriticalChange).map(({ packageId }) => packageId);
      await requestAlerts(db, orgUid, [...new Set(critical)]);
    });
  }
  await context.write(async (db) => {
    // A request with another token stays, and its packages are compared again.
    await removeRequests(db, batch);
    await markMatched(db, packages);
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
    const said: Claims = new Map();
    for (let start = 0; start < about.length; start += CANDIDATES_PER_TURN) {
      collectClaims({ type: packageType(type), version, distribution }, about.slice(start, start + CANDIDATES_PER_TURN), said);
      await setImmediate();
    }
    unscored.set(id, findingsOf(said, orgUid));
  }
  const ids = [...unscored.values()].flat().flatMap(({ vulnerability, detail }) => [vulnerability, ...detail.aliases]);
  const cvssOf = await loadScores(reader, ids);
  return new Map([...unscored].map(([id, all]) => [id, all.map((one) => withScores(one, cvssOf))]));
}

interface StoredFinding {
  readonly package_id: number;
  readonly vulnerability: string;
  readonly open_time: string;
  readonly severity: number;
  readonly is_suppressed: number;
  readonly detail: string;
}

/** By package and vulnerability. */
type OpenFindings = ReadonlyMap<string, StoredFinding>;

/** Only this worker writes findings of the organization, so they stay the same until it writes. */
async function readOpen(db: ReadDb, packages: readonly MatchedPackage[]): Promise<OpenFindings> {
  const wanted = idsOf(db, packages);
  const { rows } = await sql<StoredFinding>`
    select f.package_id, f.vulnerability, f.open_time, f.severity, f.is_suppressed, f.detail from ${wanted} as w
      cross join finding as f where f.package_id = w.id and f.close_time is null`.execute(db);
  return new Map(rows.map((row) => [`${row.package_id} ${row.vulnerability}`, row]));
}

function idsOf(db: ReadDb, packages: readonly MatchedPackage[]) {
  const ids = packages.map(({ id }) => ({ id }));
  return db.dialect.rowsOf(ids, { id: "bigint" });
}

/** A finding that appears, changes or vanishes. */
interface Change {
  readonly packageId: number;
  /** Undefined for a new one. */
  readonly before: StoredFinding | undefined;
  /** Undefined for one that vanishes. */
  readonly after: Omit<StoredFinding, "open_time"> | undefined;
}

function findChanges(found: ReadonlyMap<number, readonly Finding[]>, open: OpenFindings): Change[] {
  const gone = new Map(open);
  const changes: Change[] = [];
  for (const [packageId, findings] of found) {
    for (const { vulnerability, severity, detail } of findings) {
      const key = `${packageId} ${vulnerability}`;
      const is_suppressed = detail.suppression === undefined ? 0 : 1;
      const after = { package_id: packageId, vulnerability, severity, is_suppressed, detail: JSON.stringify(detail) };
      const before = open.get(key);
      gone.delete(key);
      if (before === undefined || before.detail !== after.detail || !isSame(before, after)) changes.push({ packageId, before, after });
    }
  }
  for (const before of gone.values()) changes.push({ packageId: before.package_id, before, after: undefined });
  return changes;
}

type Counted = Pick<StoredFinding, "severity" | "is_suppressed">;

/** Whether both count the same, so that the row need not be closed. */
function isSame(before: Counted, after: Counted): boolean {
  return before.severity === after.severity && before.is_suppressed === after.is_suppressed;
}

function isCriticalChange({ before, after }: Change): boolean {
  return (before !== undefined && isCritical(before)) !== (after !== undefined && isCritical(after));
}

async function storeChanges(db: WriteDb, changes: readonly Change[], time: Date): Promise<void> {
  const opened: FindingTable[] = [];
  for (const { before, after } of changes) {
    if (before !== undefined && after !== undefined && isSame(before, after)) {
      await updateFinding(db, before, { detail: after.detail });
      continue;
    }
    // Later than the time of opening, even if the clock went back.
    const last = before === undefined ? 0 : Date.parse(before.open_time) + 1;
    const now = new Date(Math.max(time.getTime(), last)).toISOString();
    if (before !== undefined) await updateFinding(db, before, { close_time: now });
    if (after !== undefined) opened.push({ ...after, open_time: now, close_time: null });
  }
  await insertRows<FindingTable>(db, "finding", ["package_id", "vulnerability", "open_time"], opened);
}

async function updateFinding(
  db: WriteDb,
  { package_id, vulnerability, open_time }: StoredFinding,
  change: { readonly detail: string } | { readonly close_time: string },
): Promise<void> {
  await db
    .updateTable("finding")
    .set(change)
    .where("package_id", "=", package_id)
    .where("vulnerability", "=", vulnerability)
    .where("open_time", "=", open_time)
    .execute();
}

async function markMatched(db: WriteDb, packages: readonly MatchedPackage[]): Promise<void> {
  await sql`update matched_package set is_matched = 1 where is_matched = 0 and id in (select w.id from ${idsOf(db, packages)} as w)`.execute(
    db,
  );
}

function isCritical({ severity, is_suppressed }: Pick<StoredFinding, "severity" | "is_suppressed">): boolean {
  return severity === SEVERITY.critical && is_suppressed === 0;
}
