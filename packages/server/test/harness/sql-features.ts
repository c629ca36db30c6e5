/** Collects the SQL that this process sends to PostgreSQL, and compares it with features that other engines lack. */
import assert from "node:assert/strict";
import pg from "pg";

/** Features that Holt needs although an engine with PostgreSQL's protocol lacks them. docs/scaling.md explains each by this name. */
export const NEEDED: Readonly<Record<string, RegExp>> = {
  "LISTEN and pg_notify": /^listen\b|\bpg_notify\(/,
  "advisory locks of a transaction": /\bpg_advisory_xact_lock\(/,
  "transaction ids and snapshots": /\bpg_current_xact_id|\bpg_snapshot_xmin|\bpg_current_snapshot|\bxid8\b/,
  "the collation C": /collate "c"/,
  "sessions in pg_stat_activity": /\bpg_stat_activity\b|\bpg_backend_pid\(/,
  "the size of database and WAL": /\bpg_database_size\(|\bpg_ls_waldir\(/,
  "storage parameters of tables": /\bfillfactor\b|\bautovacuum_|\bvacuum_index_cleanup\b/,
  "the plan mode": /\bplan_cache_mode\b/,
  "row locks for keys": /\bfor (?:no key update|key share)\b/,
};

/** Features that an engine lacks and that Holt does without. */
const AVOIDED: Readonly<Record<string, RegExp>> = {
  extensions: /\bcreate extension\b/,
  "triggers and functions": /\bcreate (?:or replace )?(?:constraint )?(?:trigger|function|procedure)\b|^do\b/,
  "views, rules and inheritance": /\bcreate (?:materialized view|view|rule)\b|\binherits \(/,
  "deferred constraints": /\bdeferrable\b|\bset constraints\b/,
  "exclusion constraints": /\bexclude using\b/,
  "indexes other than B-trees": /\busing (?:gin|gist|spgist|brin|hash)\b/,
  "full-text search": /\btsvector\b|\bto_tsquery\(/,
  "table locks": /\block table\b/,
  cursors: /^declare\b|\bwith hold\b/,
  "temporary tables": /\bcreate temp(?:orary)? table\b/,
  "two-phase commit": /\bprepare transaction\b/,
  "large objects": /\blo_(?:create|import|open)\(/,
  "system columns": /\bctid\b|\bcmin\b|(?<![_a-z])xmin\s*(?:=|<|>|::)/,
  "advisory locks of a session": /\bpg_(?:try_)?advisory_(?:lock|unlock)/,
  "savepoints and partitions": /^savepoint\b|\bpartition of\b|\bpartition by (?:range|list|hash)\b/,
  "serializable transactions": /\bisolation level serializable\b/,
};

export function featuresOf(sql: string, features: Readonly<Record<string, RegExp>>): string[] {
  const text = sql.toLowerCase().trim();
  return Object.entries(features).flatMap(([name, pattern]) => (pattern.test(text) ? [name] : []));
}

/** @throws if one of the statements needs a feature that Holt does without */
export function assertPortable(statements: Iterable<string>): void {
  const found = [...statements].flatMap((sql) => featuresOf(sql, AVOIDED).map((feature) => `${feature}: ${sql}`));
  assert.deepEqual(found, [], "SQL needs a feature that engines like PostgreSQL lack");
}

const recorded = new Set<string>();
let isRecording = false;

/** The texts of all statements that this process sends from now on. */
export function recordStatements(): ReadonlySet<string> {
  if (isRecording) return recorded;
  isRecording = true;
  const { prototype } = pg.Client;
  const send = prototype.query as (...args: unknown[]) => unknown;
  prototype.query = function query(this: pg.Client, ...args: unknown[]) {
    const [first] = args;
    const text = typeof first === "string" ? first : (first as { text?: string } | undefined)?.text;
    if (text !== undefined) recorded.add(text);
    return send.apply(this, args);
  } as typeof prototype.query;
  return recorded;
}
