/** Samples for the conformance suites: subscriptions and the event feed. */
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { Subscriptions } from "@holt/api/gen/platform/events/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { subscriptions } from "../../src/events/api/subscriptions.ts";
import { defineSample, inGroup, type OperationSample, type ResourceSample } from "../harness/samples.ts";
import type { World } from "../harness/world.ts";

export const resourceSamples: readonly ResourceSample[] = [
  defineSample(subscriptions, SubscriptionsService, {
    title: "a subscription",
    v1: { service: Subscriptions, body: (body) => body },
    parent: inGroup,
    capabilityNoun: "subscriptions",
    isImmutable: true,
    ownFields: [],
    body: async () => ({ sink: "https://sink.example.com:8443/hook?a=%C3%A9&b=<b>" }),
    change: async () => ({}),
    smallChange: {},
    uniqueFilter: () => ({}),
  }),
];

async function subscribe(world: World): Promise<{ uid: string; group: string }> {
  const group = await world.group(world.orgUid);
  const subscription = { sink: "https://sink.example.com/" };
  const { uid } = await world.must(SubscriptionsService.method.createSubscription, { parent: group, subscription });
  return { uid, group };
}

export const operationSamples: readonly OperationSample[] = [
  { method: EventsService.method.listEvents, answer: 0 },
  { method: EventsService.method.listSignedEvents, answer: 0 },
  {
    method: SubscriptionSettingsService.method.updateSubscription,
    event: {
      async succeeding(world) {
        const { uid, group } = await subscribe(world);
        return { request: { subscription: { uid, types: ["registry.push.v1"] } }, subject: () => uid, group: () => group };
      },
      failing: async (world) => ({ subscription: { uid: (await subscribe(world)).uid, sink: "no URL" } }),
    },
  },
];
