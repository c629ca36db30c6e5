/** Whether this server should get traffic: asked of the store, told to /readyz and to grpc.health.v1. */
import { setTimeout as delay } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import {
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema,
  Health as HealthService,
} from "@holt/api/gen/grpc/health/v1/health_pb.ts";
import { untilAborted } from "./invoke.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;
/** How long the store may take to answer, and how often watchers look. */
const PATIENCE_MS = 2_000;
const WATCH_MS = 5_000;

export interface Health {
  /** What is wrong, in words for an operator; undefined when nothing is. */
  problem(): Promise<string | undefined>;
  /** From now on there is a problem: the server is stopping. */
  drain(): void;
  readonly draining: AbortSignal;
}

/** @param ping answers when the store does, and rejects when it does not */
export function createHealth(ping: () => Promise<void>): Health {
  const draining = new AbortController();
  let asked: Promise<string | undefined> | undefined;
  return {
    async problem() {
      if (draining.signal.aborted) return "the server is stopping";
      // One question at a time, however many ask: a store in trouble is not helped by more.
      asked ??= askStore(ping).finally(() => {
        asked = undefined;
      });
      return asked;
    },
    drain: () => draining.abort(),
    draining: draining.signal,
  };
}

async function askStore(ping: () => Promise<void>): Promise<string | undefined> {
  try {
    await untilAborted(ping(), AbortSignal.timeout(PATIENCE_MS));
    return undefined;
  } catch {
    return "the store does not answer";
  }
}

/** @param names every service name that is served; the empty one stands for the server */
export function healthRoutes(router: ConnectRouter, health: Health, names: ReadonlySet<string>): void {
  const isKnown = (service: string) => service === "" || names.has(service);
  const status = async () => ((await health.problem()) === undefined ? SERVING : NOT_SERVING);
  router.service(HealthService, {
    async check({ service }) {
      if (!isKnown(service)) throw new ConnectError(`There is no service "${service.slice(0, 256)}"`, Code.NotFound);
      return { status: await status() };
    },
    async list() {
      const statuses: Record<string, MessageInitShape<typeof HealthCheckResponseSchema>> = {};
      for (const name of ["", ...names]) statuses[name] = create(HealthCheckResponseSchema, { status: await status() });
      return { statuses };
    },
    watch: ({ service }, context) => watch(isKnown(service) ? status : async () => SERVICE_UNKNOWN, context.signal, health.draining),
  });
}

/** Tells the status at once and on every change, until the caller leaves or the server stops. */
async function* watch(status: () => Promise<HealthCheckResponse_ServingStatus>, caller: AbortSignal, draining: AbortSignal) {
  const end = AbortSignal.any([caller, draining]);
  let told: HealthCheckResponse_ServingStatus | undefined;
  while (!caller.aborted) {
    const now = await status();
    if (now !== told) yield { status: now };
    told = now;
    if (end.aborted) return;
    await delay(WATCH_MS, undefined, { signal: end, ref: false }).catch(() => undefined);
  }
}
