/** Measures statements and transactions of both stores. */
import type { CompiledQuery } from "kysely";
import { type Histogram, type Meter, noMeter } from "../lib/meter.ts";
import type { Execute } from "./handle.ts";

/** A statement belongs to a read handle, a snapshot or a transaction. */
export type StatementKind = "read" | "snapshot" | "write";

export interface Observation {
  /** Measures each statement that `execute` runs. */
  statements(kind: StatementKind, execute: Execute): Execute;
  /** Measures a transaction from its request to its end, with the time that it waits for its turn. */
  transaction<T>(run: () => Promise<T>): Promise<T>;
}

/** @param isInProcess whether a statement is over when its promise is returned */
export function createObservation(meter: Meter, isInProcess: boolean): Observation {
  if (meter === noMeter) return unobserved;
  const statements = meter.histogram({
    name: "holt_database_statement_duration_seconds",
    help: "Time of statements, by the kind of handle that ran them.",
    labels: { kind: new Set<StatementKind>(["read", "snapshot", "write"]) },
  });
  const transactions = meter.histogram({
    name: "holt_database_transaction_duration_seconds",
    help: "Time of write transactions, from the request to the commit or rollback.",
    labels: { outcome: new Set(["committed", "failed"]) },
  });
  return {
    statements: (kind, execute) => (isInProcess ? timeSync(statements, kind, execute) : timeAsync(statements, kind, execute)),
    async transaction(run) {
      const started = performance.now();
      let outcome = "failed";
      try {
        const value = await run();
        outcome = "committed";
        return value;
      } finally {
        transactions.observe((performance.now() - started) / 1000, outcome);
      }
    },
  };
}

const unobserved: Observation = {
  statements: (_kind, execute) => execute,
  transaction: (run) => run(),
};

function timeSync(histogram: Histogram, kind: StatementKind, execute: Execute): Execute {
  return (query: CompiledQuery) => {
    const started = performance.now();
    const result = execute(query);
    histogram.observe((performance.now() - started) / 1000, kind);
    return result;
  };
}

function timeAsync(histogram: Histogram, kind: StatementKind, execute: Execute): Execute {
  return async (query: CompiledQuery) => {
    const started = performance.now();
    try {
      return await execute(query);
    } finally {
      histogram.observe((performance.now() - started) / 1000, kind);
    }
  };
}
