/** Counts requests of the protocols that are not calls, such as the container registry, and measures their time. */
import type { Meter } from "../lib/meter.ts";

export interface ProtocolMetrics {
  /** Adds the name of a protocol to the values of the label. */
  admit(protocol: string): void;
  record(protocol: string, method: string, status: number, seconds: number): void;
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const STATUSES = [200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 405, 406, 408, 409, 410, 411, 412];
const MORE_STATUSES = [413, 415, 416, 422, 429, 431, 499, 500, 501, 502, 503, 504];

export function createProtocolMetrics(meter: Meter): ProtocolMetrics {
  const protocols = new Set<string>();
  const requests = meter.counter({
    name: "holt_protocol_requests_total",
    help: "Requests of protocols that are not calls (registry, libraries, SCIM, feeds, sign-in), by method and HTTP status.",
    labels: { protocol: protocols, method: METHODS, status: new Set([...STATUSES, ...MORE_STATUSES].map(String)) },
  });
  const durations = meter.histogram({
    name: "holt_protocol_request_duration_seconds",
    help: "Time of these requests, with the time in which content is transferred.",
    labels: { protocol: protocols },
  });
  return {
    admit: (protocol) => void protocols.add(protocol),
    record(protocol, method, status, seconds) {
      requests.add(1, protocol, method, String(status));
      durations.observe(seconds, protocol);
    },
  };
}
