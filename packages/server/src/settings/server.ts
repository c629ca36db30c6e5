/** Settings of the address of the server, of its parts, its log and its processes. */
import type { LogLevel } from "../lib/log.ts";
import { type VendorProfile, vendorProfiles } from "../lib/vendor-profile.ts";
import { parseBaseUrl, parseListen, parseUrl } from "./addresses.ts";
import type { SettingGroup } from "./setting.ts";
import { HOUR_MS, matching, orZero, parseDuration, parseInteger, parseSwitch } from "./values.ts";

export const serverSettings = {
  listen: {
    env: "HOLT_LISTEN",
    fallback: "127.0.0.1:8080",
    doc: "Address and port for REST, gRPC and every other protocol. `0.0.0.0:8080` listens on all IPv4 addresses, `[::]:8080` on all addresses.",
    parse: parseListen,
  },
  /** Without a trailing slash. */
  baseUrl: {
    env: "HOLT_BASE_URL",
    fallback: "",
    fallbackDoc: "`http://`, or `https://` with a certificate, and the listen address",
    doc: "Public URL of this server, without a path. It is the issuer and the default audience of its tokens, and the source of its events. Set it before the first start: tokens name it.",
    parse: parseBaseUrl,
  },
  /** Without a trailing slash. */
  registryUrl: {
    env: "HOLT_REGISTRY_URL",
    fallback: "",
    fallbackDoc: "HOLT_BASE_URL",
    doc: "Public URL of the container registry, if the registry has a host of its own. Names of images contain this host, and tokens may be requested for it as an audience.",
    parse: parseBaseUrl,
  },
  orgName: {
    env: "HOLT_ORG_NAME",
    fallback: "my-org",
    doc: "Name of the organization that the first start creates. Later starts ignore it.",
    parse: (text) => matching(/^[a-z0-9 ._-]{1,255}$/, text, "lower-case letters, digits, spaces and . _ - only"),
  },
  vendorProfile: {
    env: "HOLT_VENDOR_PROFILE",
    fallback: "",
    doc: "Empty or `chainguard`. Adds that vendor's gRPC package names, event prefix and error domains, for clients that were made for it.",
    parse: parseVendorProfile,
  },
  console: {
    env: "HOLT_CONSOLE",
    fallback: "on",
    doc: "Whether browsers get the web console at `/console`, and at `/`: `on` or `off`.",
    parse: parseSwitch,
  },
  tlsCert: {
    env: "HOLT_TLS_CERT",
    fallback: "",
    doc: "Path of a PEM certificate chain. With HOLT_TLS_KEY, the server speaks TLS only. Read again when the file changes.",
    parse: (text) => text,
  },
  tlsKey: { env: "HOLT_TLS_KEY", fallback: "", doc: "Path of the certificate's PEM private key.", parse: (text) => text },
  logLevel: {
    env: "HOLT_LOG_LEVEL",
    fallback: "info",
    doc: "`debug`, `info` (one line per call), `warn`, `error` or `silent`. The log is JSON lines on standard error.",
    parse: (text) => matching(/^(debug|info|warn|error|silent)$/, text, "debug, info, warn, error or silent") as LogLevel,
  },
  /** Undefined for no metrics. */
  metricsListen: {
    env: "HOLT_METRICS_LISTEN",
    fallback: "",
    doc: "Address and port of `/metrics`, such as `127.0.0.1:9464`, in the OpenMetrics format. It needs no token: keep it from everybody but Prometheus. Empty serves no metrics.",
    parse: (text) => (text === "" ? undefined : parseListen(text)),
  },
  tracesEndpoint: {
    env: "OTEL_EXPORTER_OTLP_ENDPOINT",
    fallback: "",
    doc: "Base URL of an OpenTelemetry collector, such as `http://127.0.0.1:4318`, that gets traces by OTLP over HTTP. The name is OpenTelemetry's, because sidecars and Kubernetes operators set it; its other variables, such as `OTEL_SERVICE_NAME`, `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_TRACES_SAMPLER`, hold as well. Empty traces nothing.",
    parse: (text) => (text === "" ? text : parseUrl(text, ["https:", "http:"]).href),
  },
  stopDelayMs: {
    env: "HOLT_STOP_DELAY",
    fallback: "0",
    doc: "Time after SIGTERM in which the server serves everything and only `/readyz` answers 503, so that load balancers notice before connections are refused. Set it to at least the period of the probe times its failure threshold plus a few seconds: `15s` suits Kubernetes' defaults with a period of 5 s. SIGINT and a second signal do not wait.",
    parse: orZero(parseDuration(1, HOUR_MS)),
  },
  processes: {
    env: "HOLT_PROCESSES",
    fallback: "1",
    doc: "Number of server processes that share the port, so that they use as many processor cores. They need PostgreSQL. A supervisor starts them, restarts those that end, and stops them. Limits of connections, memory and concurrent calls hold for each process. See [scaling](scaling.md#all-cores-of-a-machine).",
    parse: parseInteger(1, 64),
  },
} satisfies SettingGroup;

function parseVendorProfile(text: string): VendorProfile {
  const profile = vendorProfiles.get(text);
  if (profile === undefined) throw new Error([...vendorProfiles.keys()].map((name) => name || "empty").join(" or "));
  return profile;
}
