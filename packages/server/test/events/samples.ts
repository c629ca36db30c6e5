/** What the conformance suites need to know of subscriptions and of the event feed. */
import { EventsService } from "@holt/api/gen/holt/v1/events_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { subscriptions } from "../../src/events/api/subscriptions.ts";
import { defineSample, inGroup, type OperationSample, type ResourceSample } from "../harness/samples.ts";

export const resourceSamples: readonly ResourceSample[] = [
  defineSample(subscriptions, SubscriptionsService, {
    title: "a subscription",
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

export const operationSamples: readonly OperationSample[] = [{ method: EventsService.method.listEvents, answer: 0 }];
