/** Reports the size and the load of the database. */
import type { Labels, Meter, Sample } from "../lib/meter.ts";
import type { DatabaseUsage, PoolUsage, Store } from "./store.ts";

/** The size is a query on PostgreSQL. */
const READ_EVERY_MS = 5000;

export function meterDatabase(store: Store, meter: Meter): void {
  let latest: Promise<DatabaseUsage> | undefined;
  const usage = () => {
    latest ??= store.usage().finally(() => {
      latest = undefined;
    });
    return latest;
  };
  const gauge = (name: string, help: string, samplesOf: (usage: DatabaseUsage) => readonly Sample[], labels: Labels = {}) =>
    meter.read({ type: "gauge", name, help, labels, everyMs: READ_EVERY_MS }, async () => samplesOf(await usage()));
  gauge("holt_database_bytes", "Size of the database.", ({ bytes }) => [{ value: bytes }]);
  gauge("holt_database_wal_bytes", "Size of the write-ahead log. On PostgreSQL it needs the role pg_monitor.", ({ walBytes }) =>
    walBytes === undefined ? [] : [{ value: walBytes }],
  );
  gauge("holt_database_waiting_writes", "Transactions that wait for the single writer of SQLite.", ({ waitingWrites }) =>
    waitingWrites === undefined ? [] : [{ value: waitingWrites }],
  );
  const labels = { pool: new Set<PoolUsage["pool"]>(["read", "write"]), state: new Set(["open", "idle", "waiting"]) };
  const help = "Connections of this server to PostgreSQL: open, idle among them, and requests that wait for one.";
  const samplesOf = ({ pools = [] }: DatabaseUsage) => pools.flatMap(samplesOfPool);
  gauge("holt_database_connections", help, samplesOf, labels);
}

function samplesOfPool({ pool, open, idle, waiting }: PoolUsage): Sample[] {
  return Object.entries({ open, idle, waiting }).map(([state, value]) => ({ value, labelValues: [pool, state] }));
}
