/**
 * Sends the statements of a PostgreSQL transaction in few round trips:
 * - `begin` is sent together with the first statements if these only read: if `begin` fails, they run outside of a
 *   transaction, which does no harm.
 * - Appended statements are sent together with the next statement or with `commit`. After a failed statement the database
 *   refuses the others, and rolls back in place of the commit.
 */
import type { CompiledQuery } from "kysely";
import type { ClientBase } from "pg";
import { createAppendedStatements } from "./appended-statements.ts";
import type { Execute } from "./handle.ts";
import { inOneWrite } from "./postgres-connection.ts";
import { executePlainOn } from "./postgres-statements.ts";
import type { Statements } from "./transaction.ts";

export interface PostgresTransaction extends Statements {
  /** Sends what was appended, and commits. Does nothing for a transaction without statements. */
  commit(): Promise<void>;
  /** False until the first statement is sent. */
  readonly isBegun: boolean;
  /** After `commit` there is nothing to roll back. */
  readonly isCommitSent: boolean;
  /** The error of `begin`. */
  readonly failure: { readonly error: unknown } | undefined;
}

export interface PostgresTransactionParts {
  readonly client: ClientBase;
  /** Sends `begin`, and rejects if the transaction does not begin. */
  begin(): Promise<void>;
  /** Sends a statement before it returns. */
  readonly execute: Execute;
  /** Watches statements until they are answered. */
  watch<T>(statements: () => Promise<T>): Promise<T>;
}

export function createPostgresTransaction({ client, begin, execute, watch }: PostgresTransactionParts): PostgresTransaction {
  const opening = createOpening(begin);
  const appended = createAppendedStatements(client, execute);
  let isCommitSent = false;

  /** Sends a read before the transaction is known to have begun. */
  async function executeEarly(query: CompiledQuery): ReturnType<Execute> {
    const [begun, result] = inOneWrite(client, () => [opening.run(), execute(query)]);
    // The error of `begin` comes first.
    result.catch(() => {});
    await begun;
    return result;
  }

  /** Sends what was appended and the last statement, after `begin`. */
  async function send<T>(last: () => Promise<T>): Promise<T> {
    if (!opening.isOpen) await opening.run();
    return appended.sendWith(last);
  }

  return {
    execute: (query) =>
      watch(() => (!opening.isOpen && appended.isEmpty && readsOnly(query) ? executeEarly(query) : send(() => execute(query)))),
    async append(query, errorFor) {
      appended.add(query, errorFor);
      if (appended.isFull) await watch(() => send(async () => {}));
    },
    async commit() {
      if (!opening.isSent && appended.isEmpty) return;
      await watch(async () => {
        if (!opening.isOpen) await opening.run();
        isCommitSent = true;
        await appended.sendWith(() => executePlainOn(client, "commit"));
      });
    },
    get isBegun() {
      return opening.isSent;
    },
    get isCommitSent() {
      return isCommitSent;
    },
    get failure() {
      return opening.failure;
    },
  };
}

/** Sends `begin` once, when the first statement needs it. */
function createOpening(begin: () => Promise<void>) {
  let sent: Promise<void> | undefined;
  let isOpen = false;
  let failure: PostgresTransaction["failure"];

  async function send(): Promise<void> {
    try {
      await begin();
      isOpen = true;
    } catch (error) {
      failure = { error };
      throw error;
    }
  }

  return {
    run: () => (sent ??= send()),
    get isSent() {
      return sent !== undefined;
    },
    get isOpen() {
      return isOpen;
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
