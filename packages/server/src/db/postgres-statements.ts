/** Runs compiled queries as prepared statements on a PostgreSQL connection, and translates its errors. */
import type { CompiledQuery, QueryResult, RootOperationNode } from "kysely";
import pg, { type ClientBase } from "pg";
import { unavailable } from "../lib/errors.ts";
import { sha256Hex } from "../lib/sha256.ts";
import { ConflictError, ConstraintError, RETRY_AFTER_SECONDS, writtenTable } from "./transaction.ts";

/** A prepared statement takes about ten kilobytes on the database server. */
const MAX_STATEMENTS_PER_CONNECTION = 200;
/** Longer statements insert lists of rows, whose length seldom recurs. */
const MAX_PREPARED_SQL_LENGTH = 16_384;

/** Names of a connection's prepared statements by their SQL. Keys are in order of use. */
const statementsOf = new WeakMap<ClientBase, Map<string, string>>();
let serial = 0;

// biome-ignore lint/suspicious/noExplicitAny: only the query's own type knows the type of its rows
export async function executeOn(client: ClientBase, query: CompiledQuery): Promise<QueryResult<any>> {
  if (query.sql.length > MAX_PREPARED_SQL_LENGTH)
    return resultFrom(await send(client, { text: query.sql, values: query.parameters as unknown[] }, query.query));
  const statements = statementsOf.get(client) ?? new Map<string, string>();
  statementsOf.set(client, statements);
  const name = takeName(statements, query.sql);
  try {
    const result = await send(client, { name, text: query.sql, values: query.parameters as unknown[] }, query.query);
    if (statements.size > MAX_STATEMENTS_PER_CONNECTION) await dropOldest(client, statements);
    return resultFrom(result);
  } catch (error) {
    // The statement may be stale or may not exist.
    if (statements.get(query.sql) === name) statements.delete(query.sql);
    throw error;
  }
}

/** The name of the statement, which becomes the one that was used last. */
function takeName(statements: Map<string, string>, sql: string): string {
  // The serial makes the name unique: the driver still remembers the name of a statement that was deallocated.
  const name = statements.get(sql) ?? `${sha256Hex(sql).slice(0, 16)}_${(serial++).toString(36)}`;
  statements.delete(sql);
  statements.set(sql, name);
  return name;
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

/** Runs a statement without preparing it. */
export async function executePlainOn(client: ClientBase, text: string): Promise<void> {
  await send(client, { text });
}

const brokenClients = new WeakSet<ClientBase>();

/** Whether a statement failed without an answer of the server, so that the state of the connection is unknown. */
export function isBroken(client: ClientBase): boolean {
  return brokenClients.has(client);
}

/** For a connection that answers but cannot be used. */
export function markBroken(client: ClientBase): void {
  brokenClients.add(client);
}

async function send(client: ClientBase, query: pg.QueryConfig, node?: RootOperationNode): Promise<pg.QueryResult> {
  try {
    return await client.query(query);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || FATAL.test(error.code ?? "")) brokenClients.add(client);
    throw errorFromPostgres(error, node);
  }
}

/**
 * Translates an error of the driver; unknown errors are returned unchanged.
 * Codes: https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
function errorFromPostgres(error: unknown, query?: RootOperationNode): unknown {
  if (!(error instanceof Error)) return error;
  const { code, detail } = error as { code?: unknown; detail?: unknown };
  const table = query === undefined ? "" : writtenTable(query);
  if (code === "23505") return new ConstraintError("unique", table, columnsOf(detail), error);
  if (code === "23503") return new ConstraintError("foreign-key", table, [], error);
  if (code === "40001" || code === "40P01" || code === NO_STATEMENT || isStalePlan(code, error))
    return new ConflictError(error.message, { cause: error });
  if (typeof code !== "string" ? LOST_CONNECTION.test(error.message) : UNAVAILABLE.test(code)) {
    return unavailable("the database is temporarily unavailable", { cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
  return error;
}

/** The server closes the connection. A commit may have taken effect before, for example while it waited for a standby. */
const FATAL = /^(?:08|57P|25P03)/;
/** Lost connections, missing resources, shutdown, timeouts of locks and statements, and errors of sockets. */
const UNAVAILABLE = /^(?:08|53|57P|58|57014|55P03|25P0[34]|E[A-Z]{3,})/;
/** Matches the driver's own errors, which have no code. */
const LOST_CONNECTION = /connection|timeout|not queryable/i;

/** Another statement of the same text came first on the connection, and could not be prepared. */
const NO_STATEMENT = "26000";

/** A migration made the plan stale; the statement works after it is prepared again. */
function isStalePlan(code: unknown, error: Error): boolean {
  return code === "0A000" && error.message.includes("cached plan");
}

/** `Key (parent, name)=(…) already exists.` → parent, name. Works for messages in any language. */
function columnsOf(detail: unknown): string[] {
  const list = typeof detail === "string" ? /\(([^)]*)\)=\(/.exec(detail)?.[1] : undefined;
  return list?.split(", ").map((column) => column.replaceAll('"', "")) ?? [];
}
