/** Looks for damaged pages in an SQLite file, over connections of its own. Blocks its thread for as long as it reads. */
import { DatabaseSync } from "node:sqlite";

const MAX_PROBLEMS = 5;
// https://www.sqlite.org/rescode.html
const CORRUPT = 11;
const NOT_A_DATABASE = 26;

/** The table of the file's first page. SQLite cannot read any other table while it is damaged. */
const SCHEMA = "sqlite_schema";

/** The names of all tables, the schema first. Only the schema if it is damaged: `findDamage` reports how. */
export function listTables(path: string): readonly string[] {
  try {
    using database = open(path);
    const rows = database.prepare(`select name from ${SCHEMA} where type = 'table' order by name`).all();
    return [SCHEMA, ...rows.map(({ name }) => String(name))];
  } catch (error) {
    if (isDamage(error)) return [SCHEMA];
    throw error;
  }
}

/** Reads all pages of a table and its indexes. Returns what is wrong with them, in SQLite's words. */
export function findDamage(path: string, table: string): readonly string[] {
  try {
    using database = open(path);
    const quoted = `'${table.replaceAll("'", "''")}'`;
    const rows = database.prepare(`pragma quick_check(${quoted})`).all();
    const problems = rows.map(({ quick_check: problem }) => String(problem)).filter((problem) => problem !== "ok");
    return problems.slice(0, MAX_PROBLEMS);
  } catch (error) {
    if (isDamage(error)) return [(error as Error).message];
    throw error;
  }
}

/** Whether the error says that the file is damaged. */
function isDamage(error: unknown): boolean {
  const code = error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
  return code === CORRUPT || code === NOT_A_DATABASE;
}

function open(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true });
  database.exec("pragma cache_size = -512; pragma cell_size_check = on; pragma busy_timeout = 5000");
  return database;
}
