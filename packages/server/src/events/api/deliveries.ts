/** Deliveries of a subscription: lists them, sends them again, and sends test events. All operations are about a subscription. */

import { create } from "@bufbuild/protobuf";
import {
  DeliveriesService,
  type RedeliverRequest,
  RedeliverResponseSchema,
  SendTestEventResponseSchema,
} from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { actorFromPrincipal } from "../../access/actor.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, type WriteHandler, write } from "../../api/call/implement.ts";
import { parseTime } from "../../lib/clock.ts";
import { failedPrecondition, invalidArguments, notFound } from "../../lib/errors.ts";
import type { EventNames } from "../../outbox/outbox.ts";
import { type Redelivery, type RedeliveryProgress, redeliverEvent, resumeQueue } from "../delivery/redeliver.ts";
import { appendTestEvent } from "../webhook/test-event.ts";
import { getDelivery } from "./get-delivery.ts";
import { type ListDeliveriesCollaborators, listDeliveries } from "./list-deliveries.ts";
import { readQueue, subscriptionStatus } from "./subscription-status.ts";

export interface DeliveriesCollaborators extends ListDeliveriesCollaborators {
  readonly names: EventNames;
  readonly redelivery: Redelivery;
  /** Called when deliveries have become due, after they are stored. Must not throw. */
  readonly onDue: () => void;
}

export function deliveriesService(collaborators: DeliveriesCollaborators) {
  const { names, onDue } = collaborators;
  return implement(
    DeliveriesService,
    {
      listDeliveries: read(async (request, call) => {
        await readQueue(call.db, request.uid);
        return listDeliveries(request, call, collaborators);
      }),

      getDelivery: read(async (request, call) => {
        await readQueue(call.db, request.uid);
        return getDelivery(call.db, request, collaborators.profile.userAgent);
      }),

      getSubscriptionStatus: read(async ({ uid }, call) => subscriptionStatus(call.db, uid)),

      redeliver: redeliverHandler(collaborators),

      resumeSubscription: write(async ({ uid }, call) => {
        await readQueue(call.db, uid);
        await resumeQueue(call.db, uid, call.now);
        call.db.afterCommit(onDue);
        return subscriptionStatus(call.db, uid);
      }),

      sendTestEvent: write(async ({ uid }, call) => {
        const { db, now, principal, access } = call;
        const { pause_time, pause_reason } = await readQueue(db, uid);
        if (pause_time !== null) throw paused(uid, pause_reason);
        const actor = principal === undefined ? undefined : actorFromPrincipal(principal, access);
        const eventId = await appendTestEvent(db, { subscriptionUid: uid, actor, now }, names);
        return create(SendTestEventResponseSchema, { eventId });
      }),
    },
    "Subscription",
  );
}

function redeliverHandler({
  redelivery,
  onDue,
}: DeliveriesCollaborators): WriteHandler<typeof DeliveriesService.method.redeliver, RedeliveryProgress> {
  const failedOf = ({ uid, failedSince }: RedeliverRequest, now: Date) => ({
    subscriptionUid: uid,
    since: failedSince === undefined ? "" : parseTime("failed_since", failedSince),
    now,
  });
  return {
    kind: "write",
    async prepare(request, call) {
      await readQueue(call.db, request.uid);
      assertOne(request);
      return request.eventId === "" ? redelivery.begin(failedOf(request, call.now)) : { count: 0, after: 0 };
    },
    async handle(request, call, progress) {
      await readQueue(call.db, request.uid);
      const { uid, eventId } = request;
      const count =
        eventId === "" ? await redelivery.finish(call.db, failedOf(request, call.now), progress) : await redeliverOne(uid, eventId, call);
      call.db.afterCommit(onDue);
      return create(RedeliverResponseSchema, { count: BigInt(count) });
    },
  };
}

function assertOne({ eventId, failedSince }: RedeliverRequest): void {
  if ((eventId === "") !== (failedSince === undefined)) return;
  const description = "give exactly one of event_id and failed_since";
  throw invalidArguments(["event_id", "failed_since"].map((field) => ({ field, description })));
}

const EVENT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function redeliverOne(uid: string, eventId: string, { db, now }: WriteCall): Promise<number> {
  const count = EVENT_ID.test(eventId) ? await redeliverEvent(db, uid, eventId, now) : 0;
  if (count === 0) throw notFound("Delivery", eventId.slice(0, 200));
  return count;
}

function paused(uid: string, reason: string): Error {
  const why = reason === "" ? "" : ` (${reason})`;
  return failedPrecondition(
    "SUBSCRIPTION_PAUSED",
    `the subscription is paused${why}: resume it first, with POST /holt/v1/subscriptions/${uid}:resume`,
  );
}
