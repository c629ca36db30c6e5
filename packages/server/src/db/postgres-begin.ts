/**
 * Begins a transaction together with its first statement, which saves a round trip, if that statement only reads: were the
 * transaction not to begin, the statement would run by itself.
 */
import type { CompiledQuery } from "kysely";
import type { ClientBase } from "pg";
import type { Execute } from "./handle.ts";
import { socketOf } from "./postgres-connection.ts";
import { executeOn } from "./postgres-statements.ts";

export interface Beginning {
  /** Runs a statement of the transaction. Rejects with the error of `begin` if that failed. */
  readonly execute: Execute;
  /** False until the first statement: a transaction without statements needs no commit. */
  readonly isBegun: boolean;
  /** The error of `begin`. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** @param begin sends `begin`, and rejects if the transaction does not begin */
export function beginLazily(client: ClientBase, begin: () => Promise<void>): Beginning {
  let beginning: Promise<void> | undefined;
  let isOpen = false;
  let failure: Beginning["failure"];

  function start(): Promise<void> {
    return begin().then(
      () => {
        isOpen = true;
      },
      (error: unknown) => {
        failure = { error };
        throw error;
      },
    );
  }

  async function executeFirst(query: CompiledQuery): ReturnType<Execute> {
    const socket = socketOf(client);
    // Both leave in one write.
    socket.cork();
    beginning = start();
    const running = readsOnly(query) ? executeOn(client, query) : undefined;
    socket.uncork();
    // The error of `begin` comes first.
    running?.catch(() => {});
    await beginning;
    return running ?? executeOn(client, query);
  }

  return {
    execute: async (query) => {
      if (isOpen) return executeOn(client, query);
      if (beginning === undefined) return executeFirst(query);
      await beginning;
      return executeOn(client, query);
    },
    get isBegun() {
      return beginning !== undefined;
    },
    get failure() {
      return failure;
    },
  };
}

/** A `with` may contain statements that write. */
function readsOnly({ query }: CompiledQuery): boolean {
  return query.kind === "SelectQueryNode" && query.with === undefined;
}
