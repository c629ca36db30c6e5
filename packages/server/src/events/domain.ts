/** Static facts about the domain `events`: tables, migrations, events. Every command loads this file, so keep its imports few. */
import { sql } from "kysely";
import type { Domain } from "../api/domain.ts";
import { deliveries } from "./migrations/003-deliveries.ts";
import { subscriptionTypes } from "./migrations/029-subscription-types.ts";
import { eventContexts } from "./migrations/030-event-contexts.ts";
import { deliveryExchanges } from "./migrations/049-delivery-exchanges.ts";
import { eventsTables } from "./organization-tables.ts";
import { DELIVERY_LEASE_MS } from "./tables.ts";

export const eventsDomain: Domain = {
  name: "events",
  migrations: [deliveries, subscriptionTypes, eventContexts, deliveryExchanges],
  organizationTables: eventsTables,
  countedRows: [{ kind: "subscription", table: "subscription" }],
  onGroupDelete: { blockedBy: [{ table: "subscription" }] },
  queues: [
    {
      name: "deliveries",
      table: "subscription_queue",
      leaseMs: DELIVERY_LEASE_MS,
      where: sql`next_time is not null and pause_time is null`,
      since: "next_time",
    },
  ],
};
