/** The event benchmarks, by their names on the command line. */
import type { StoreName } from "../data/stores.ts";
import type { Line } from "../report.ts";
import { auditCost } from "./audit-cost.ts";
import { deliveries } from "./deliveries.ts";
import { deliveryLatency } from "./latency.ts";
import { outboxCost } from "./outbox-cost.ts";

export const eventParts: Readonly<Record<string, (store: StoreName) => Promise<Line[]>>> = {
  deliveries,
  "delivery-latency": deliveryLatency,
  "audit-cost": auditCost,
  "outbox-cost": outboxCost,
};
