/** One connection to an SQLite file: prepared statements kept per SQL text, rows as plain objects, errors in Holt's terms. Knows no transactions. */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from "node:sqlite";
import type { CompiledQuery, QueryResult, RootOperationNode } from "kysely";
import { unavailable } from "../lib/errors.ts";
import { ConstraintError, writtenTable } from "./transaction.ts";

const MAX_STATEMENTS = 500;
/** Longer texts are lists of rows, seldom of the same length again, and large in memory. */
const MAX_KEPT_LENGTH = 16_384;

interface Prepared {
  readonly statement: StatementSync;
  /** Empty where the statement answers no rows. */
  readonly columns: readonly string[];
}

export interface SqliteConnectionOptions {
  readonly path: string;
  readonly readOnly: boolean;
  readonly cacheKib: number;
}

export class SqliteConnection implements Disposable {
  readonly database: DatabaseSync;
  /** The order of the keys is the order of use, so the first is the one to drop. */
  readonly #statements = new Map<string, Prepared>();
  #last: { readonly sql: string; readonly prepared: Prepared } | undefined;

  constructor(options: SqliteConnectionOptions) {
    // The timeout stops the whole process while it waits, so it is only for the short locks of recovery and checkpoints.
    this.database = new DatabaseSync(options.path, { readOnly: options.readOnly, timeout: 500, enableForeignKeyConstraints: true });
    this.database.exec(`pragma cache_size = -${options.cacheKib}; pragma temp_store = memory`);
  }

  // biome-ignore lint/suspicious/noExplicitAny: what a row is, only the query's own type says
  execute(query: CompiledQuery): QueryResult<any> {
    try {
      const { statement, columns } = this.#prepare(query.sql);
      const parameters = query.parameters as readonly SQLInputValue[];
      if (columns.length === 0) {
        const { changes, lastInsertRowid } = statement.run(...parameters);
        return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
      }
      // Arrays made into objects here are a third faster than the dictionary objects of node:sqlite, and have a prototype.
      const rows = statement.all(...parameters) as unknown as SQLOutputValue[][];
      return { rows: rows.map((values) => rowFrom(columns, values)) };
    } catch (error) {
      throw errorFromSqlite(error, query.query);
    }
  }

  #prepare(sql: string): Prepared {
    // Rows of one table come one after the other.
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
      if (sql.length > MAX_KEPT_LENGTH) return prepared;
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
/** BUSY, LOCKED, NOMEM, IOERR, FULL, CANTOPEN, PROTOCOL: the database is there and will not take it now. */
const UNAVAILABLE_CODES = [BUSY, 6, 7, 10, 13, 14, 15];

function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode : 0;
}

export function isBusy(error: unknown): boolean {
  return (codeOf(error) & 0xff) === BUSY;
}

/** What a driver's error means; anything unforeseen is returned as it is. `query` names the table of a broken constraint. */
export function errorFromSqlite(error: unknown, query?: RootOperationNode): unknown {
  const code = codeOf(error);
  const table = query === undefined ? "" : writtenTable(query);
  if (UNIQUE_CODES.includes(code)) return new ConstraintError("unique", table, columnsOf((error as Error).message), error);
  if (FOREIGN_KEY_CODES.includes(code)) return new ConstraintError("foreign-key", table, [], error);
  if (UNAVAILABLE_CODES.includes(code & 0xff)) return unavailable("the database cannot do this now", { cause: error });
  return error;
}

/** `UNIQUE constraint failed: role.parent, role.name` → parent, name. */
function columnsOf(message: string): string[] {
  return Array.from(message.matchAll(/\w+\.(\w+)(?=,|$)/g), (match) => match[1]!);
}
