/** Runs compiled queries on a PostgreSQL connection as prepared statements, and says what its errors mean. Owns no connection. */
import type { CompiledQuery, QueryResult, RootOperationNode } from "kysely";
import pg, { type ClientBase } from "pg";
import { unavailable } from "../lib/errors.ts";
import { sha256Hex } from "../lib/sha256.ts";
import { ConflictError, ConstraintError, writtenTable } from "./transaction.ts";

/** Per connection. A prepared statement's plan costs the server some ten kilobytes. */
const MAX_STATEMENTS = 200;
/** Longer texts are lists of rows, seldom of the same length again. */
const MAX_KEPT_LENGTH = 16_384;

/** Names of the statements prepared on a connection by their SQL; the order of the keys is the order of use. */
const statementsOf = new WeakMap<ClientBase, Map<string, string>>();
let serial = 0;

// biome-ignore lint/suspicious/noExplicitAny: what a row is, only the query's own type says
export async function executeOn(client: ClientBase, query: CompiledQuery): Promise<QueryResult<any>> {
  if (query.sql.length > MAX_KEPT_LENGTH)
    return resultFrom(await send(client, { text: query.sql, values: query.parameters as unknown[] }, query.query));
  const statements = statementsOf.get(client) ?? new Map<string, string>();
  statementsOf.set(client, statements);
  // Not a hash alone: a statement that is prepared again after it was dropped must not meet the driver's memory of the first.
  const name = statements.get(query.sql) ?? `${sha256Hex(query.sql).slice(0, 16)}_${(serial++).toString(36)}`;
  // Whatever goes wrong, the statement may be the reason (its plan is out of date) or may not exist; only success keeps the name.
  statements.delete(query.sql);
  const result = await send(client, { name, text: query.sql, values: query.parameters as unknown[] }, query.query);
  statements.set(query.sql, name);
  if (statements.size > MAX_STATEMENTS) await dropOldest(client, statements);
  return resultFrom(result);
}

function resultFrom({ rows, command, rowCount }: pg.QueryResult): QueryResult<unknown> {
  return WRITES.has(command) ? { rows, numAffectedRows: BigInt(rowCount ?? 0) } : { rows };
}

const WRITES = new Set(["INSERT", "UPDATE", "DELETE"]);

async function dropOldest(client: ClientBase, statements: Map<string, string>): Promise<void> {
  const oldest = statements.entries().next();
  if (oldest.done) return;
  statements.delete(oldest.value[0]);
  await executePlainOn(client, `deallocate "${oldest.value[1]}"`);
}

/** Runs a statement that is not worth preparing. */
export async function executePlainOn(client: ClientBase, text: string): Promise<void> {
  await send(client, { text });
}

const brokenClients = new WeakSet<ClientBase>();

/** Whether a statement failed for another reason than the server's answer: nobody knows then what the server will say to the next one. */
export function isBroken(client: ClientBase): boolean {
  return brokenClients.has(client);
}

async function send(client: ClientBase, query: pg.QueryConfig, node?: RootOperationNode): Promise<pg.QueryResult> {
  try {
    return await client.query(query);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) brokenClients.add(client);
    throw errorFromPostgres(error, node);
  }
}

/** What a driver's error means; anything unforeseen is returned as it is. https://www.postgresql.org/docs/current/errcodes-appendix.html */
export function errorFromPostgres(error: unknown, query?: RootOperationNode): unknown {
  if (!(error instanceof Error)) return error;
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  const table = query === undefined ? "" : writtenTable(query);
  if (code === "23505") return new ConstraintError("unique", table, columnsOf(detail), error);
  if (code === "23503") return new ConstraintError("foreign-key", table, [], error);
  if (code === "40001" || code === "40P01" || isStalePlan(code, error)) return new ConflictError(error.message, { cause: error });
  if (typeof code !== "string" ? LOST_CONNECTION.test(error.message) : UNAVAILABLE.test(code)) {
    return unavailable("the database cannot do this now", { cause: error });
  }
  return error;
}

/** No connection, no resources, shutting down, a lock or a statement that took too long; and the errors of sockets. */
const UNAVAILABLE = /^(?:08|53|57P|58|57014|55P03|25P0[34]|E[A-Z]{3,})/;
/** The driver's own errors have no code. */
const LOST_CONNECTION = /connection|timeout|not queryable/i;

/** Somebody migrated the database meanwhile; prepared anew, the statement works. */
function isStalePlan(code: unknown, error: Error): boolean {
  return code === "0A000" && error.message.includes("cached plan");
}

/** `Key (parent, name)=(…) already exists.` → parent, name, in whatever language the server speaks. */
function columnsOf(detail: unknown): string[] {
  const list = typeof detail === "string" ? /\(([^)]*)\)=\(/.exec(detail)?.[1] : undefined;
  return list?.split(", ").map((column) => column.replaceAll('"', "")) ?? [];
}
