/**
 * A connection to an SQLite file. It caches prepared statements, returns rows as plain objects and translates errors.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import type { CompiledQuery, QueryResult, RootOperationNode } from "kysely";
import { unavailable } from "../lib/errors.ts";
import { isRepeated, type RepeatedQuery } from "./repeated.ts";
import { ConstraintError, RETRY_AFTER_SECONDS, writtenTable } from "./transaction.ts";

const MAX_STATEMENTS = 500;
/** Longer statements insert lists of rows. Their length seldom recurs, and they take much memory. */
const MAX_CACHED_SQL_LENGTH = 16_384;

interface Prepared {
  readonly statement: StatementSync;
  /** Empty if the statement returns no rows. */
  readonly columns: readonly string[];
}

export interface SqliteConnectionOptions {
  readonly path: string;
  readonly readOnly: boolean;
  readonly cacheKib: number;
}

export class SqliteConnection implements Disposable {
  readonly database: DatabaseSync;
  /** Keys are in order of use, so the first is the least recently used. */
  readonly #statements = new Map<string, Prepared>();
  #last: { readonly sql: string; readonly prepared: Prepared } | undefined;

  constructor(options: SqliteConnectionOptions) {
    // Waiting for a lock blocks the whole process, so the timeout covers only the short locks of recovery and
    // checkpoints.
    this.database = new DatabaseSync(options.path, { readOnly: options.readOnly, timeout: 500, enableForeignKeyConstraints: true });
    this.database.exec(`pragma cache_size = -${options.cacheKib}; pragma temp_store = memory`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: only the query's own type knows the type of its rows
  execute(query: CompiledQuery): QueryResult<any> {
    try {
      if (isRepeated(query)) return this.#repeat(query);
      const { statement, columns } = this.#prepare(query.sql);
      const parameters = query.parameters as readonly SQLInputValue[];
      if (columns.length === 0) {
        const { changes, lastInsertRowid } = statement.run(...parameters);
        return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
      }
      // Building objects from arrays is a third faster than using the objects of node:sqlite, which have no prototype.
      const rows = statement.all(...parameters) as unknown as SQLOutputValue[][];
      return { rows: rows.map((values) => rowFrom(columns, values)) };
    } catch (error) {
      throw errorFromSqlite(error, query.query);
    }
  }

  #repeat({ sql, parameters }: RepeatedQuery): QueryResult<never> {
    const { statement } = this.#prepare(sql);
    for (const some of parameters) statement.run(...(some as readonly SQLInputValue[]));
    return { rows: [] };
  }

  #prepare(sql: string): Prepared {
    // Consecutive queries are often the same.
    if (sql === this.#last?.sql) return this.#last.prepared;
    const prepared = this.#prepareOrFind(sql);
    this.#last = { sql, prepared };
    return prepared;
  }

  #prepareOrFind(sql: string): Prepared {
    let prepared = this.#statements.get(sql);
    if (prepared === undefined) {
      const statement = this.database.prepare(sql);
      statement.setReturnArrays(true);
      prepared = { statement, columns: statement.columns().map((column) => column.name) };
      if (sql.length > MAX_CACHED_SQL_LENGTH) return prepared;
      const oldest = this.#statements.keys().next();
      if (this.#statements.size >= MAX_STATEMENTS && !oldest.done) this.#statements.delete(oldest.value);
    } else {
      this.#statements.delete(sql);
    }
    this.#statements.set(sql, prepared);
    return prepared;
  }

  [Symbol.dispose](): void {
    this.#statements.clear();
    this.#last = undefined;
    this.database.close();
  }
}

function rowFrom(columns: readonly string[], values: readonly SQLOutputValue[]): Record<string, SQLOutputValue> {
  const row: Record<string, SQLOutputValue> = {};
  for (let i = 0; i < columns.length; i++) row[columns[i]!] = values[i]!;
  return row;
}

// https://www.sqlite.org/rescode.html; the low byte of an extended code is its primary code.
const BUSY = 5;
const UNIQUE_CODES = [2067, 1555, 2579];
const FOREIGN_KEY_CODES = [787, 1811];
/** BUSY, LOCKED, NOMEM, IOERR, FULL, CANTOPEN, PROTOCOL: the database exists but is temporarily unusable. */
const UNAVAILABLE_CODES = [BUSY, 6, 7, 10, 13, 14, 15];

function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
}

export function isBusy(error: unknown): boolean {
  return (codeOf(error) & 0xff) === BUSY;
}

/**
 * Translates an error of node:sqlite; unknown errors are returned unchanged. `query` gives the table of a violated
 * constraint.
 */
function errorFromSqlite(error: unknown, query: RootOperationNode): unknown {
  const code = codeOf(error);
  const table = writtenTable(query);
  if (UNIQUE_CODES.includes(code)) return new ConstraintError("unique", table, columnsOf((error as Error).message), error);
  if (FOREIGN_KEY_CODES.includes(code)) return new ConstraintError("foreign-key", table, [], error);
  if (UNAVAILABLE_CODES.includes(code & 0xff))
    return unavailable("the database is temporarily unavailable", { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  return error;
}

/** `UNIQUE constraint failed: role.parent, role.name` → parent, name. */
function columnsOf(message: string): string[] {
  return Array.from(message.matchAll(/\w+\.(\w+)(?=,|$)/g), (match) => match[1]!);
}
