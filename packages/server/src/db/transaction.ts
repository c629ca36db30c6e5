/** Implements transactions for both stores: the handle of one attempt, the errors, and retries. Runs no SQL itself. */
import { setTimeout as sleep } from "node:timers/promises";
import { type CompiledQuery, type OperationNode, type RootOperationNode, TableNode } from "kysely";
import { aborted } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Dialect } from "./dialect.ts";
import { createWriteHandle, type Execute } from "./handle.ts";
import type { WriteDb } from "./store.ts";

/**
 * A statement violated a constraint. The transaction cannot commit any more: catch this only to throw a better error.
 */
export class ConstraintError extends Error {
  override readonly name = "ConstraintError";
  readonly kind: "unique" | "foreign-key";
  /** The table that the statement wrote; the empty string for raw SQL. */
  readonly table: string;
  /** The columns of a unique constraint; empty for a foreign key, whose columns SQLite does not report. */
  readonly columns: readonly string[];
  constructor(kind: ConstraintError["kind"], table: string, columns: readonly string[], cause: unknown) {
    super(`${kind} constraint of ${[table || "a table", columns.join(", ")].filter(Boolean).join(": ")}`, { cause });
    this.kind = kind;
    this.table = table;
    this.columns = columns;
  }
}

/** The transaction conflicted with another one and may succeed when retried. Never leaves this folder. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
}

/** The error that the transaction fails with in place of a statement's own. */
export type ErrorFor = (error: unknown) => unknown;

/** Runs the statements of one transaction. */
export interface Statements {
  readonly execute: Execute;
  /** Like `WriteDb.append`. */
  append(query: CompiledQuery, errorFor: ErrorFor): Promise<void>;
}

/** For a store that gains nothing by waiting with a statement. */
export function appendAtOnce(execute: Execute): Statements {
  return {
    execute,
    async append(query, errorFor) {
      try {
        await execute(query);
      } catch (error) {
        throw errorFor(error);
      }
    },
  };
}

/** One attempt at a transaction. */
export interface Attempt {
  readonly db: WriteDb;
  /**
   * Resolves with the result of the work. Rejects if the work or any statement failed, even if the work caught the
   * error.
   */
  run<T>(work: (db: WriteDb) => Promise<T>): Promise<T>;
  /** Runs the after-commit actions. The caller calls it once, when the transaction is durable. */
  committed(log: Log): void;
}

export function createAttempt(dialect: Dialect, statements: Statements): Attempt {
  const actions: (() => void)[] = [];
  let isOver = false;
  let failure: { error: unknown } | undefined;
  async function inside<T>(run: () => Promise<T>): Promise<T> {
    // The connection may already run another transaction.
    if (isOver) throw new Error("this transaction is over: its work did not await a statement");
    if (failure !== undefined) throw new Error("an earlier statement of this transaction failed", { cause: failure.error });
    try {
      return await run();
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }
  const db = createWriteHandle(dialect, {
    execute: (query) => inside(() => statements.execute(query)),
    append: (query, errorFor) => inside(() => statements.append(query, (error) => appendedError(error, errorFor))),
    afterCommit: (action) => void actions.push(action),
  });
  return {
    db,
    async run(work) {
      try {
        const value = await work(db);
        // PostgreSQL silently rolls back when a failed transaction is committed.
        if (failure !== undefined) throw failure.error;
        return value;
      } catch (error) {
        throw failure?.error instanceof ConflictError ? failure.error : error;
      } finally {
        isOver = true;
      }
    },
    committed(log) {
      for (const action of actions) {
        try {
          action();
        } catch (error) {
          log.error({ err: error }, "an after-commit action failed");
        }
      }
    },
  };
}

/** The caller of a later statement may meet this error, and must not take it for its own constraint. */
function appendedError(error: unknown, errorFor: ErrorFor | undefined): unknown {
  if (error instanceof ConflictError) return error;
  const replaced = errorFor === undefined ? error : errorFor(error);
  return replaced instanceof ConstraintError ? new Error("a constraint refused an appended statement", { cause: replaced }) : replaced;
}

/** The retry delay of calls that changed nothing because the database did not answer. */
export const RETRY_AFTER_SECONDS = 1;

const MAX_ATTEMPTS = 8;

/** Retries after a ConflictError, with randomized exponential backoff. @throws ABORTED after the last attempt */
export async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      if (tries === MAX_ATTEMPTS) throw aborted("too many concurrent changes to the same data; try again");
      await sleep(Math.random() * Math.min(5 * 2 ** tries, 500));
    }
  }
}

/** The table that a statement writes, or the empty string. */
export function writtenTable(node: RootOperationNode): string {
  const target = targetOf(node);
  return target !== undefined && TableNode.is(target) ? target.table.identifier.name : "";
}

function targetOf(node: RootOperationNode): OperationNode | undefined {
  if (node.kind === "InsertQueryNode") return node.into;
  if (node.kind === "UpdateQueryNode") return node.table;
  return node.kind === "DeleteQueryNode" ? node.from.froms[0] : undefined;
}
