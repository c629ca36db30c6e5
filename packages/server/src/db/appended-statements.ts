/** Appended statements of a PostgreSQL transaction, which wait so that they leave together with a later statement. */
import type { CompiledQuery } from "kysely";
import type { ClientBase } from "pg";
import type { Execute } from "./handle.ts";
import { inOneWrite } from "./postgres-connection.ts";
import type { ErrorFor } from "./transaction.ts";

interface Appended {
  readonly query: CompiledQuery;
  readonly errorFor: ErrorFor;
}

/** Statements that wait. */
const MAX_APPENDED = 64;

export interface AppendedStatements {
  readonly isEmpty: boolean;
  readonly isFull: boolean;
  /** @throws Error for a value that the driver cannot write */
  add(query: CompiledQuery, errorFor: ErrorFor): void;
  /** Sends them and the last statement in one write. The first error is the cause of the others. */
  sendWith<T>(last: () => Promise<T>): Promise<T>;
}

export function createAppendedStatements(client: ClientBase, execute: Execute): AppendedStatements {
  let appended: Appended[] = [];
  return {
    get isEmpty() {
      return appended.length === 0;
    },
    get isFull() {
      return appended.length >= MAX_APPENDED;
    },
    add(query, errorFor) {
      assertPlain(query.parameters);
      appended.push({ query, errorFor });
    },
    async sendWith(last) {
      if (appended.length === 0) return last();
      const waiting = appended;
      appended = [];
      const [earlier, result] = inOneWrite(client, () => [waiting.map(({ query }) => execute(query)), last()]);
      const [outcomes] = await Promise.all([Promise.allSettled(earlier), result.catch(() => {})]);
      const failed = outcomes.findIndex(({ status }) => status === "rejected");
      if (failed < 0) return result;
      throw waiting[failed]!.errorFor((outcomes[failed] as PromiseRejectedResult).reason);
    },
  };
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
