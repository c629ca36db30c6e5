/** Health of this server, for /readyz and grpc.health.v1: the server is healthy if its store can read and write and it is not stopping. */
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  Health as HealthService,
} from "@holt/api/gen/grpc/health/v1/health_pb.ts";
import { HoltError } from "../../lib/errors.ts";
import { untilAborted } from "./until-aborted.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;
/** Time limit for an answer of the store. */
const PING_TIMEOUT_MS = 2_000;
/** Interval at which a watch checks the health. */
const WATCH_MS = 5_000;

export interface Health {
  /** A problem, in words for an operator; undefined if the server is healthy. */
  problem(): Promise<string | undefined>;
  /** Marks the server as stopping: from now on it is not healthy. */
  drain(): void;
  readonly draining: AbortSignal;
}

/** @param ping resolves if the store answers */
export function createHealth(ping: () => Promise<void>): Health {
  const draining = new AbortController();
  let pending: Promise<string | undefined> | undefined;
  return {
    async problem() {
      if (draining.signal.aborted) return "the server is stopping";
      // Concurrent checks share one ping, so that they do not burden a store in trouble.
      pending ??= pingStore(ping).finally(() => {
        pending = undefined;
      });
      return pending;
    },
    drain: () => draining.abort(),
    draining: draining.signal,
  };
}

async function pingStore(ping: () => Promise<void>): Promise<string | undefined> {
  try {
    await untilAborted(ping(), AbortSignal.timeout(PING_TIMEOUT_MS));
    return undefined;
  } catch (error) {
    return error instanceof HoltError ? error.message.replace("Unavailable: ", "") : "the store does not answer";
  }
}

/** @param names every served service name; the empty name stands for the server */
export function healthRoutes(router: ConnectRouter, health: Health, names: ReadonlySet<string>): void {
  const isKnown = (service: string) => service === "" || names.has(service);
  const status = async () => ((await health.problem()) === undefined ? SERVING : NOT_SERVING);
  router.service(HealthService, {
    async check({ service }) {
      if (!isKnown(service)) throw new ConnectError(`There is no service "${service.slice(0, 256)}"`, Code.NotFound);
      return { status: await status() };
    },
    async list() {
      const now = create(HealthCheckResponseSchema, { status: await status() });
      return { statuses: Object.fromEntries(["", ...names].map((name) => [name, now])) };
    },
    watch: ({ service }, context) => watch(isKnown(service) ? status : async () => SERVICE_UNKNOWN, context.signal, health.draining),
  });
}

/**
 * Sends the status at once and on every change, until the server stops.
 * @throws the reason why the caller's signal was aborted: it has left, or its deadline has passed
 */
async function* watch(status: () => Promise<HealthCheckResponse_ServingStatus>, caller: AbortSignal, draining: AbortSignal) {
  const end = AbortSignal.any([caller, draining]);
  let sent: HealthCheckResponse_ServingStatus | undefined;
  while (!caller.aborted) {
    const now = await status();
    if (now !== sent) yield { status: now };
    sent = now;
    if (draining.aborted) return;
    await delay(WATCH_MS, undefined, { signal: end, ref: false }).catch(() => undefined);
  }
  throw caller.reason;
}
