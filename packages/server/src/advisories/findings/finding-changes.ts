/** Compares the findings of packages with the stored ones, and stores the differences. */
import { sql } from "kysely";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import { insertRows } from "../storage/insert-rows.ts";
import type { FindingTable } from "../tables.ts";
import { type Finding, SEVERITY } from "./finding.ts";

interface StoredFinding {
  readonly package_id: number;
  readonly vulnerability: string;
  readonly open_time: string;
  readonly severity: number;
  readonly is_suppressed: number;
  readonly detail: string;
}

interface Identified {
  readonly id: number;
}

/** By package and vulnerability. */
type OpenFindings = ReadonlyMap<string, StoredFinding>;

/** Only this worker writes findings of the organization, so they stay the same until it writes. */
export async function readOpen(db: ReadDb, packages: readonly Identified[]): Promise<OpenFindings> {
  const wanted = idsOf(db, packages);
  const { rows } = await sql<StoredFinding>`
    select f.package_id, f.vulnerability, f.open_time, f.severity, f.is_suppressed, f.detail from ${wanted} as w
      cross join finding as f where f.package_id = w.id and f.close_time is null`.execute(db);
  return new Map(rows.map((row) => [`${row.package_id} ${row.vulnerability}`, row]));
}

export function idsOf(db: ReadDb, packages: readonly Identified[]) {
  const ids = packages.map(({ id }) => ({ id }));
  return db.dialect.rowsOf(ids, { id: "bigint" });
}

/** A finding that appears, changes or vanishes. */
export interface Change {
  readonly packageId: number;
  /** Undefined for a new one. */
  readonly before: StoredFinding | undefined;
  /** Undefined for one that vanishes. */
  readonly after: Omit<StoredFinding, "open_time"> | undefined;
}

export function findChanges(found: ReadonlyMap<number, readonly Finding[]>, open: OpenFindings): Change[] {
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

export function isCriticalChange({ before, after }: Change): boolean {
  return (before !== undefined && isCritical(before)) !== (after !== undefined && isCritical(after));
}

export async function storeChanges(db: WriteDb, changes: readonly Change[], time: Date): Promise<void> {
  const opened: FindingTable[] = [];
  const changed: ChangedFinding[] = [];
  for (const { before, after } of changes) {
    if (before !== undefined && after !== undefined && isSame(before, after)) {
      changed.push({ ...keyOf(before), close_time: null, detail: after.detail });
      continue;
    }
    // Later than the time of opening, even if the clock went back.
    const last = before === undefined ? 0 : Date.parse(before.open_time) + 1;
    const now = new Date(Math.max(time.getTime(), last)).toISOString();
    if (before !== undefined) changed.push({ ...keyOf(before), close_time: now, detail: before.detail });
    if (after !== undefined) opened.push({ ...after, open_time: now, close_time: null });
  }
  await updateFindings(db, changed);
  await insertRows<FindingTable>(db, "finding", ["package_id", "vulnerability", "open_time"], opened);
}

type ChangedFinding = Pick<FindingTable, "package_id" | "vulnerability" | "open_time" | "close_time" | "detail">;

function keyOf({ package_id, vulnerability, open_time }: StoredFinding) {
  return { package_id, vulnerability, open_time };
}

async function updateFindings(db: WriteDb, findings: readonly ChangedFinding[]): Promise<void> {
  if (findings.length === 0) return;
  const columns = { package_id: "bigint", vulnerability: "text", open_time: "text", close_time: "text", detail: "text" } as const;
  await sql`update finding set close_time = g.close_time, detail = g.detail from ${db.dialect.rowsOf(findings, columns)} as g
    where finding.package_id = g.package_id and finding.vulnerability = g.vulnerability and finding.open_time = g.open_time`.execute(db);
}

function isCritical({ severity, is_suppressed }: Pick<StoredFinding, "severity" | "is_suppressed">): boolean {
  return severity === SEVERITY.critical && is_suppressed === 0;
}
