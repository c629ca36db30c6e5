/**
 * Sends the statements of a PostgreSQL transaction in few round trips:
 * - `begin` leaves together with the first statements if those only read: were the transaction not to begin, they would run
 *   by themselves.
 * - Appended statements leave together with the next statement or with `commit`. After a failed statement the database
 *   refuses the others, and rolls back in place of the commit.
 */
import type { CompiledQuery } from "kysely";
import type { ClientBase } from "pg";
import type { Execute } from "./handle.ts";
import { inOneWrite } from "./postgres-connection.ts";
import { executePlainOn } from "./postgres-statements.ts";
import type { ErrorFor, Statements } from "./transaction.ts";

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

interface Appended {
  readonly query: CompiledQuery;
  readonly errorFor: ErrorFor;
}

/** Statements that wait. */
const MAX_APPENDED = 64;

export function createPostgresTransaction({ client, begin, execute, watch }: PostgresTransactionParts): PostgresTransaction {
  let appended: Appended[] = [];
  let beginning: Promise<void> | undefined;
  let isOpen = false;
  let isCommitSent = false;
  let failure: PostgresTransaction["failure"];

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

  /** Sends a read before the transaction is known to have begun. */
  async function executeEarly(query: CompiledQuery): ReturnType<Execute> {
    const [begun, result] = inOneWrite(client, () => {
      beginning ??= start();
      return [beginning, execute(query)];
    });
    // The error of `begin` comes first.
    result.catch(() => {});
    await begun;
    return result;
  }

  async function open(): Promise<void> {
    beginning ??= start();
    await beginning;
  }

  /** The first error is the cause of the others. */
  async function withAppended<T>(last: () => Promise<T>): Promise<T> {
    if (appended.length === 0) return last();
    const waiting = appended;
    appended = [];
    const [earlier, result] = inOneWrite(client, () => [waiting.map(({ query }) => execute(query)), last()]);
    const [outcomes] = await Promise.all([Promise.allSettled(earlier), result.catch(() => {})]);
    const failed = outcomes.findIndex(({ status }) => status === "rejected");
    if (failed < 0) return result;
    throw waiting[failed]!.errorFor((outcomes[failed] as PromiseRejectedResult).reason);
  }

  return {
    execute: (query) =>
      watch(async () => {
        if (!isOpen && appended.length === 0 && readsOnly(query)) return executeEarly(query);
        if (!isOpen) await open();
        return withAppended(() => execute(query));
      }),
    async append(query, errorFor) {
      assertPlain(query.parameters);
      appended.push({ query, errorFor });
      if (appended.length < MAX_APPENDED) return;
      await watch(async () => {
        if (!isOpen) await open();
        await withAppended(async () => {});
      });
    },
    async commit() {
      if (beginning === undefined && appended.length === 0) return;
      await watch(async () => {
        if (!isOpen) await open();
        isCommitSent = true;
        await withAppended(() => executePlainOn(client, "commit"));
      });
    },
    get isBegun() {
      return beginning !== undefined;
    },
    get isCommitSent() {
      return isCommitSent;
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

/** A value that the driver cannot write would keep its statement from the database, but not the commit behind it. */
function assertPlain(parameters: readonly unknown[]): void {
  for (const value of parameters) {
    const isPlain = value === null || PLAIN.has(typeof value) || value instanceof Uint8Array;
    if (Array.isArray(value)) assertPlain(value);
    else if (!isPlain) throw new Error(`a statement cannot be appended with a value of type ${typeof value}`);
  }
}

const PLAIN: ReadonlySet<string> = new Set(["string", "number", "bigint", "boolean"]);
