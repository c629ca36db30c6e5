/** Serves `/metrics` on an address of its own, so that a firewall can keep it from clients of the API. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Log } from "../lib/log.ts";
import type { Metrics } from "./prometheus.ts";

/** All metrics, in the format of `contentType`. */
export type MetricsSource = Pick<Metrics, "contentType" | "scrape">;

export interface MetricsListener extends AsyncDisposable {
  readonly port: number;
}

export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

/** A scrape has one connection; these are enough for several Prometheus servers and a person. */
const MAX_CONNECTIONS = 32;
const TIMEOUT_MS = 10_000;

/** @throws Error for the operator if the address is not available */
export async function startMetricsListener({ host, port }: MetricsAddress, metrics: MetricsSource, log: Log): Promise<MetricsListener> {
  const server = createServer((request, response) => void answer(request, response, metrics, log));
  server.maxConnections = MAX_CONNECTIONS;
  server.requestTimeout = TIMEOUT_MS;
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (error) {
    throw new Error(`cannot serve metrics on ${host}:${port} (HOLT_METRICS_LISTEN): ${(error as Error).message}`, { cause: error });
  }
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, metrics: MetricsSource, log: Log): Promise<void> {
  const [path] = (request.url ?? "").split("?");
  if (path !== "/metrics") return void response.writeHead(404).end("the metrics are at /metrics\n");
  if (request.method !== "GET" && request.method !== "HEAD") return void response.writeHead(405, { allow: "GET, HEAD" }).end();
  try {
    const text = await metrics.scrape();
    response.writeHead(200, { "content-type": metrics.contentType, "content-length": Buffer.byteLength(text) });
    response.end(request.method === "HEAD" ? undefined : text);
  } catch (err) {
    log.error({ err }, "the metrics cannot be collected");
    response.writeHead(500).end();
  }
}
