/** Settings of the limits of connections and requests. */
import { parseNetwork } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, parseDuration, parseInteger, parseList } from "./values.ts";

export const limitsSettings = {
  maxConcurrentCalls: {
    env: "HOLT_MAX_CONCURRENT_CALLS",
    fallback: "1024",
    doc: "Maximum number of concurrent calls and other requests (container registry, libraries, SCIM, feeds, sign-in). Further ones get RESOURCE_EXHAUSTED (HTTP 429). A request does not count while its body arrives, nor while it transfers the content of a blob, of a library's file or of a feed.",
    parse: parseInteger(1, 1_000_000),
  },
  maxConnectionsPerAddress: {
    env: "HOLT_MAX_CONNECTIONS_PER_ADDRESS",
    fallback: "1000",
    doc: "Maximum number of connections from one remote address (IPv6: from one /64 network). Further ones are closed at once. `0` for no limit. It does not hold for HOLT_TRUSTED_PROXIES.",
    parse: parseInteger(0, 1_000_000),
  },
  maxConnectionsPerCaller: {
    env: "HOLT_MAX_CONNECTIONS_PER_CALLER",
    fallback: "1000",
    doc: "Maximum number of connections of one identity. A request on a further one gets RESOURCE_EXHAUSTED (HTTP 429). A connection belongs to the identity that used it last. `0` for no limit. It does not hold for HOLT_TRUSTED_PROXIES.",
    parse: parseInteger(0, 1_000_000),
  },
  maxTransfersPerCaller: {
    env: "HOLT_MAX_TRANSFERS_PER_CALLER",
    fallback: "256",
    doc: "Maximum number of concurrent transfers of one identity: blobs, files of libraries, feeds and long lists of version 1. Further ones get RESOURCE_EXHAUSTED (HTTP 429). The anonymous readers of feeds and of public content from one network (an IPv4 address, or a /64 of IPv6) count as one identity. `0` for no limit.",
    parse: parseInteger(0, 1_000_000),
  },
  readTimeoutMs: {
    env: "HOLT_READ_TIMEOUT",
    fallback: "30s",
    doc: "Time in which a client must take the next part of a response. A client that takes nothing for this long loses its connection, or its stream of HTTP/2.",
    parse: parseDuration(1000, HOUR_MS),
  },
  /** CIDRs. */
  trustedProxies: {
    env: "HOLT_TRUSTED_PROXIES",
    fallback: "",
    doc: "Addresses of reverse proxies in front of this server, as comma-separated addresses or CIDRs such as `127.0.0.1,10.0.0.0/8`. The right-most address of `X-Forwarded-For` that is not one of them is the client's, for limits, log and events. The limits of connections do not hold for proxies.",
    parse: (text) => parseList(text).map(parseNetwork),
  },
} satisfies SettingGroup;
