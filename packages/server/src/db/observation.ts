/** Measures and traces the statements and transactions of both stores. */
import type { CompiledQuery } from "kysely";
import { type Histogram, type Meter, noMeter } from "../lib/meter.ts";
import type { Tracer } from "../lib/tracer.ts";
import type { Dialect } from "./dialect.ts";
import type { Execute } from "./handle.ts";
import type { WriteDb } from "./store.ts";

/** A statement belongs to a read handle, a snapshot or a transaction. */
export type StatementKind = "read" | "snapshot" | "write";

type Work<T> = (db: WriteDb) => Promise<T>;

export interface Observation {
  /** Observes each statement that `execute` runs. */
  statements(kind: StatementKind, execute: Execute): Execute;
  /**
   * Observes a transaction from its request to its end, with the time that it waits for its turn.
   * @param run gets the work, which belongs to the caller's trace wherever it runs
   */
  transaction<T>(work: Work<T>, run: (work: Work<T>) => Promise<T>): Promise<T>;
}

export interface ObservationParts {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly dialect: Pick<Dialect, "name" | "isInProcess">;
}

export function createObservation({ meter, tracer, dialect }: ObservationParts): Observation {
  const measured = meter === noMeter ? unobserved : measure(meter, dialect.isInProcess);
  return tracer.isActive ? traced(measured, tracer, dialect.name) : measured;
}

const unobserved: Observation = {
  statements: (_kind, execute) => execute,
  transaction: (work, run) => run(work),
};

function measure(meter: Meter, isInProcess: boolean): Observation {
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
    async transaction(work, run) {
      const started = performance.now();
      let outcome = "failed";
      try {
        const value = await run(work);
        outcome = "committed";
        return value;
      } finally {
        transactions.observe((performance.now() - started) / 1000, outcome);
      }
    },
  };
}

/** The text of a statement has placeholders in place of values. */
function traced(inner: Observation, tracer: Tracer, store: Dialect["name"]): Observation {
  const system = { "db.system.name": store === "postgres" ? "postgresql" : "sqlite" };
  return {
    statements(kind, execute) {
      const run = inner.statements(kind, execute);
      return (query) =>
        tracer.span({ name: `statement ${kind}`, kind: "client", attributes: { ...system, "db.query.text": query.sql } }, () => run(query));
    },
    transaction: (work, run) => tracer.span({ name: "transaction", attributes: system }, () => inner.transaction(tracer.bind(work), run)),
  };
}

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
