/** The settings of subscriptions that can be changed: their sink and the types of their events. */
import { create } from "@bufbuild/protobuf";
import { type Subscription, SubscriptionSchema, SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { SubscriptionSchema as StoredSchema } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { ReadDb } from "../../db/store.ts";
import { type FieldViolation, notFound } from "../../lib/errors.ts";
import { compileUrlCheck } from "../../outbound/url-check.ts";
import { releaseQueue, resumeQueue } from "../delivery/redeliver.ts";
import { isTypePattern, MAX_TYPES, typePatternViolation } from "../delivery/type-filter.ts";
import { subscriptions } from "./subscriptions.ts";

export interface SubscriptionSettingsCollaborators {
  /** Networks that the operator lets Holt speak to, also without TLS. */
  readonly outboundAllowCidrs: readonly string[];
  /** Called when deliveries have become due, after they are stored. Must not throw. */
  readonly onDue: () => void;
  /** Called when a subscription has another sink. Must not throw. */
  readonly onNewSink: (uid: string) => void;
}

export function subscriptionSettingsService({ outboundAllowCidrs, onDue, onNewSink }: SubscriptionSettingsCollaborators) {
  const sinkViolations = compileUrlCheck("sink", outboundAllowCidrs);
  return implement(SubscriptionSettingsService, {
    getSubscription: read(async ({ uid }, { db }) => find(db, uid)),

    updateSubscription: write(async ({ subscription, updateMask }, call) => {
      const incoming = subscription as Subscription;
      const row = call.db.selectFrom("subscription").select("uid").where("uid", "=", incoming.uid);
      await call.db.dialect.forUpdate(row).execute();
      const current = await find(call.db, incoming.uid);
      const next = applyMask(SubscriptionSchema, current, incoming, updateMask);
      const violations = next.sink === current.sink ? [] : sinkViolations(next.sink);
      assertNone([...violations, ...typeViolations(next.types)]);
      await save(current, next, call);
      if (current.sink !== next.sink) {
        // Failures of the former sink must not delay deliveries to the new one, and it gets nothing more.
        await resumeQueue(call.db, next.uid, call.now);
        await releaseQueue(call.db, next.uid);
        call.db.afterCommit(() => {
          onNewSink(next.uid);
          onDue();
        });
      }
      return next;
    }),
  });
}

/** @throws NOT_FOUND */
async function find(db: ReadDb, uid: string): Promise<Subscription> {
  const row = await db.selectFrom("subscription").select(["uid", "sink", "types"]).where("uid", "=", uid).executeTakeFirst();
  if (row === undefined) throw notFound("Subscription", uid.slice(0, 200));
  return create(SubscriptionSchema, { uid: row.uid, sink: row.sink, types: JSON.parse(row.types) as string[] });
}

function typeViolations(types: readonly string[]): FieldViolation[] {
  if (types.length > MAX_TYPES) return [{ field: "types", description: `must have at most ${MAX_TYPES} types` }];
  return types.flatMap((type, index) => (isTypePattern(type) ? [] : [typePatternViolation(`types[${index}]`)]));
}

async function save(current: Subscription, { uid, sink, types }: Subscription, call: WriteCall): Promise<void> {
  const isSame = current.sink === sink && JSON.stringify(current.types) === JSON.stringify(types);
  if (isSame) {
    call.changed = false;
    return;
  }
  const body = subscriptions.encode(create(StoredSchema, { uid, sink }));
  await call.db
    .updateTable("subscription")
    .set({ sink, types: JSON.stringify(types), body, update_time: call.now.toISOString() })
    .where("uid", "=", uid)
    .execute();
}
