/** Starts the transports of Holt on a random port with an operation runner of the test. */
import { create } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { compileOperations, fullName } from "../../src/api/call/operation.ts";
import type { Run } from "../../src/api/call/run.ts";
import { UnservedCalls } from "../../src/api/call/unserved-calls.ts";
import { createGrpcHandler } from "../../src/api/grpc/grpc-handler.ts";
import { createHealth, type Health } from "../../src/api/grpc/health.ts";
import { createRefusal } from "../../src/api/rest/error.ts";
import type { CertificateFiles } from "../../src/http/certificate.ts";
import { type RequestHandler, send } from "../../src/http/http-exchange.ts";
import { createListener, type Listener } from "../../src/http/listener.ts";
import type { Mount } from "../../src/http/mount.ts";
import { compileProxyAddresses } from "../../src/http/proxy-addresses.ts";
import { RequestMemory } from "../../src/http/request-memory.ts";
import { createRouter } from "../../src/http/router.ts";
import { createServerPages } from "../../src/http/server-pages.ts";
import { defaultLimits, type TransportLimits } from "../../src/http/transport-limits.ts";
import { createOidcMounts } from "../../src/iam/tokens/oidc.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createLog } from "../../src/lib/log.ts";
import { vendorProfiles } from "../../src/lib/vendor-profile.ts";

export interface TransportOptions {
  run?: Run;
  vendor?: string;
  limits?: Partial<TransportLimits>;
  tls?: CertificateFiles;
  /** CIDRs of reverse proxies. */
  proxies?: readonly string[];
  rest?: RequestHandler;
  mounts?: readonly Mount[];
  ping?: () => Promise<void>;
}

export interface Transports extends AsyncDisposable {
  readonly listener: Listener;
  readonly port: number;
  readonly health: Health;
}

const unimplemented = new Set(services.flatMap((service) => service.methods.map(fullName)));
const operations = compileOperations(services, [], unimplemented);

export async function startTransports(options: TransportOptions = {}): Promise<Transports> {
  const limits = { ...defaultLimits, ...options.limits };
  const log = createLog("silent");
  const profile = vendorProfiles.get(options.vendor ?? "");
  if (profile === undefined) throw new Error(`no vendor ${options.vendor}`);
  const memory = new RequestMemory(limits);
  const health = createHealth(options.ping ?? (async () => {}));
  const unserved = new UnservedCalls(log, systemClock);
  const run = options.run ?? answerKindly;
  const grpc = createGrpcHandler({ operations, services, run, profile, limits, memory, health, log, unserved });
  const pages = createServerPages({
    health,
    openapi: (_request, response) => send(response, 200, { type: "application/json", text: "{}" }),
    consolePath: undefined,
    docs: (request, response) => send(response, 200, { type: "text/html", text: `docs at ${request.url}` }),
  });
  const oidc = createOidcMounts({ issuer: "https://issuer.test", jwks: async () => ({ keys: [] }), log });
  const router = createRouter({
    mounts: [...pages, ...oidc, ...(options.mounts ?? [])],
    rest:
      options.rest ??
      ((request, response) => send(response, 200, { type: "application/json", text: JSON.stringify({ rest: request.url }) })),
    refuse: createRefusal(profile),
    limits,
  });
  const listener = await createListener({
    host: "127.0.0.1",
    port: 0,
    tls: options.tls,
    onStream: grpc.handleStream,
    onRequest: (request, response) => grpc.handleRequest(request, response) || router(request, response),
    limits,
    isProxy: compileProxyAddresses(options.proxies ?? []),
    log,
  });
  return { listener, port: listener.port, health, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() };
}

/** Answers a Ping with "pong" or the called alias, GetGroup with a group of that uid, and all others with an empty message. */
export const answerKindly: Run = async ({ method, domain }, source, metadata) => {
  const request = await source();
  if (domain === "ping") return create(method.output, { response: metadata.alias ?? "pong" } as Record<string, unknown>);
  if (method.output !== GroupSchema) return create(method.output);
  const { uid = "" } = request as { uid?: string };
  return create(GroupSchema, { uid, name: metadata.protocol });
};

/** Frames a message for gRPC. `compressed` sets the flag only and does not compress. */
export function frame(message: Uint8Array, compressed = 0): Buffer {
  const prefix = Buffer.from([compressed, 0, 0, 0, 0]);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
