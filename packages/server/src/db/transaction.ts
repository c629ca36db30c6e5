/** What a transaction is on both stores: the handle of one attempt, the errors it can end with, and when it is tried again. Runs no SQL itself. */
import { setTimeout as sleep } from "node:timers/promises";
import { type OperationNode, type RootOperationNode, TableNode } from "kysely";
import { aborted } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import type { Dialect } from "./dialect.ts";
import { createWriteHandle, type Execute } from "./handle.ts";
import type { WriteDb } from "./store.ts";

/** A statement broke a constraint. It spoils its transaction: catch it only to throw what it means. */
export class ConstraintError extends Error {
  override readonly name = "ConstraintError";
  readonly kind: "unique" | "foreign-key";
  /** The table the statement wrote; the empty string for raw SQL. */
  readonly table: string;
  /** The columns that were to be unique; empty for a foreign key, of which SQLite says no more. */
  readonly columns: readonly string[];
  constructor(kind: ConstraintError["kind"], table: string, columns: readonly string[], cause: unknown) {
    super(`${kind} constraint of ${[table || "a table", columns.join(", ")].filter(Boolean).join(": ")}`, { cause });
    this.kind = kind;
    this.table = table;
    this.columns = columns;
  }
}

/** The transaction met another one and may succeed when tried again. Never leaves this folder. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
}

/** One attempt at a transaction. */
export interface Attempt {
  readonly db: WriteDb;
  /** Runs the work and resolves with its value, or rejects where it or any of its statements failed, even if it caught that. */
  run<T>(work: (db: WriteDb) => Promise<T>): Promise<T>;
  /** To be called once, when the transaction is durable. */
  committed(log: Log): void;
}

export function createAttempt(dialect: Dialect, execute: Execute): Attempt {
  const actions: (() => void)[] = [];
  let isOver = false;
  let failure: { error: unknown } | undefined;
  async function executeInside(query: Parameters<Execute>[0]): ReturnType<Execute> {
    // The connection may already be in somebody else's transaction.
    if (isOver) throw new Error("this transaction is over: its work did not await a statement");
    if (failure !== undefined) throw new Error("an earlier statement spoiled this transaction", { cause: failure.error });
    try {
      return await execute(query);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  }
  const db = createWriteHandle(dialect, executeInside, (action) => void actions.push(action));
  return {
    db,
    async run(work) {
      try {
        const value = await work(db);
        // PostgreSQL answers COMMIT of a spoiled transaction with a silent rollback.
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
          log.error({ err: error }, "an action after a commit failed");
        }
      }
    },
  };
}

const ATTEMPTS = 8;

/** Tries again after a ConflictError, each time after a longer random pause, so that those who met do not meet again. */
export async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      if (tries === ATTEMPTS) throw aborted("too many others are changing the same data; try again");
      await sleep(Math.random() * Math.min(5 * 2 ** tries, 500));
    }
  }
}

/** The table a statement writes, or the empty string. */
export function writtenTable(node: RootOperationNode): string {
  const target = targetOf(node);
  return target !== undefined && TableNode.is(target) ? target.table.identifier.name : "";
}

function targetOf(node: RootOperationNode): OperationNode | undefined {
  if (node.kind === "InsertQueryNode") return node.into;
  if (node.kind === "UpdateQueryNode") return node.table;
  return node.kind === "DeleteQueryNode" ? node.from.froms[0] : undefined;
}
