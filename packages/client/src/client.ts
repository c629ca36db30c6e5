/** A client of one server. */
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient as connectClient, type Transport } from "@connectrpc/connect";
import type { RetryOptions } from "./backoff.ts";
import { authorize, type CallRecord, record, retry } from "./interceptors.ts";
import { findListMethod, type ListAll, walkPages } from "./list-all.ts";
import { servicesOfHolt, servicesV1, servicesV2 } from "./services.ts";
import type { TokenSource } from "./tokens/token-source.ts";
import { transportTo } from "./transport.ts";

export interface ClientOptions {
  /** URL of the server. */
  readonly baseUrl: string;
  /** Left out for calls that need no token. */
  readonly token?: TokenSource;
  /** The deadline of each call, repetitions included; default 60 seconds. */
  readonly timeoutMs?: number;
  readonly retry?: RetryOptions;
  /** Called after each attempt of a call. */
  readonly onCall?: (call: CallRecord) => void;
  /** Replaces the runtime's own, e.g. to use a proxy. */
  readonly fetch?: typeof globalThis.fetch;
}

type Resources<Services extends Readonly<Record<string, DescService>>> = {
  readonly [Resource in keyof Services & string]: Client<Services[Resource]> & ListAll<Services[Resource], Resource>;
};

type Domains<Services extends Readonly<Record<string, Readonly<Record<string, DescService>>>>> = {
  readonly [Domain in keyof Services]: Resources<Services[Domain]>;
};

/** Version 2 by domain and resource; version 1 and Holt's own services below names of their own. */
export type HoltClient = Domains<typeof servicesV2> & {
  readonly v1: Domains<typeof servicesV1>;
  readonly holt: Resources<typeof servicesOfHolt>;
};

/** Opens no connection before the first call. Every call rejects with HoltError. @throws TypeError for a malformed URL */
export function createClient({ baseUrl, token, timeoutMs = 60_000, retry: retries, onCall, fetch }: ClientOptions): HoltClient {
  const interceptors = [
    retry(retries),
    ...(onCall === undefined ? [] : [record(onCall)]),
    ...(token === undefined ? [] : [authorize(token)]),
  ];
  const transport = transportTo({ baseUrl, interceptors, timeoutMs, ...(fetch && { fetch }) });
  const domains = (services: object) => mapValues(services, (resources) => clientsOf(resources, transport));
  return { ...domains(servicesV2), v1: domains(servicesV1), holt: clientsOf(servicesOfHolt, transport) } as HoltClient;
}

function clientsOf(services: Readonly<Record<string, DescService>>, transport: Transport): object {
  return mapValues(services, (service, resource) => {
    const client: Record<string, unknown> = connectClient(service, transport);
    const method = findListMethod(service, resource);
    if (method === undefined) return client;
    return Object.assign(client, { listAll: walkPages(method, client[method.localName] as never) });
  });
}

function mapValues(values: object, map: (value: never, key: string) => object): object {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value as never, key)]));
}
