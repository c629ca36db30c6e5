/** Every setting once: its name, its default, what it means, what is wrong with a bad value. The only reader of process.env. */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { ServicePrincipal } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import type { PublicOrganizations } from "./advisories/documents/publication.ts";
import type { RequiredTerms } from "./api/call/required-terms.ts";
import { parseSecretsKey } from "./iam/secrets/secrets-key.ts";
import { isIssuerUrl } from "./iam/tokens/issuer-url.ts";
import { normalizeIssuer } from "./iam/tokens/jwt.ts";
import type { OidcSubject } from "./iam/tokens/workload-login.ts";
import type { LogLevel } from "./lib/log.ts";
import { isInRoot, isUid } from "./lib/uid.ts";
import { type VendorProfile, vendorProfiles } from "./lib/vendor-profile.ts";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export interface Config {
  readonly listen: ListenAddress;
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly databasePoolSize: number;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Without a trailing slash. */
  readonly registryUrl: string;
  readonly orgName: string;
  readonly vendorProfile: VendorProfile;
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly logLevel: LogLevel;
  readonly maxConcurrentCalls: number;
  readonly audiences: readonly string[];
  readonly userIssuers: readonly string[];
  /** Empty where the operator has no provider of its own. */
  readonly loginIssuer: string;
  readonly loginClientId: string;
  readonly loginClientSecret: string;
  /** Issuer → its JWK set. */
  readonly pinnedIssuers: ReadonlyMap<string, unknown>;
  readonly userClientIds: readonly string[];
  readonly servicePrincipals: ReadonlyMap<ServicePrincipal, readonly OidcSubject[]>;
  /** Undefined for a key in the data folder. */
  readonly secretsKey: Uint8Array | undefined;
  readonly requiredTerms: RequiredTerms;
  readonly outboundAllowCidrs: readonly string[];
  readonly awsStsUrl: string;
  readonly gcGraceMs: number;
  /** 0 for never. */
  readonly gcIntervalMs: number;
  /** Whether this server reads what is in images. */
  readonly imagePackages: boolean;
  readonly webhookBackoffMs: readonly number[];
  readonly webhookTimeoutMs: number;
  readonly webhookGiveUpMs: number;
  readonly eventRetentionMs: number;
  readonly importMaxBytes: number;
  readonly mirrorTimeoutMs: number;
  readonly publicAdvisories: PublicOrganizations;
}

/** A setting that cannot be used; the message says which, what it was and what it must be. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

interface Setting<T> {
  readonly env: string;
  /** As an operator would write it. */
  readonly fallback: string;
  /** For the reference: one or two sentences. */
  readonly doc: string;
  /** Its value is never shown. */
  readonly isSecret?: boolean;
  /** Shown instead of the fallback where that depends on other settings. */
  readonly fallbackDoc?: string;
  /** Throws an Error whose message continues "must be …". */
  parse(text: string): T;
}

type Settings = { readonly [K in keyof Config]: Setting<Config[K]> };

const HOUR_MS = 3_600_000;

export const settings: Settings = {
  listen: {
    env: "HOLT_LISTEN",
    fallback: "127.0.0.1:8080",
    doc: "Address and port to listen on, for REST, gRPC and everything else. `0.0.0.0:8080` for all of IPv4, `[::]:8080` for all addresses.",
    parse: parseListen,
  },
  dataDir: {
    env: "HOLT_DATA_DIR",
    fallback: "./data",
    doc: "Folder of the embedded database and of the registry's blobs; with PostgreSQL of the blobs alone, and then the same one for all servers. Made with mode 0700 when missing. Who can read the database in it can act as the bootstrap owner.",
    parse: (text) => resolve(nonEmpty(text)),
  },
  databaseUrl: {
    env: "HOLT_DATABASE_URL",
    fallback: "",
    doc: "Empty for SQLite in the data folder; `postgres://user:password@host:5432/database` for PostgreSQL 15 or newer. Several servers may share one PostgreSQL.",
    parse: parseDatabaseUrl,
  },
  databasePoolSize: {
    env: "HOLT_DATABASE_POOL_SIZE",
    fallback: "10",
    doc: "How many PostgreSQL connections this server keeps for writing, and as many again for reading.",
    parse: parseInteger(1, 1000),
  },
  baseUrl: {
    env: "HOLT_BASE_URL",
    fallback: "",
    fallbackDoc: "`http://` (with a certificate `https://`) and the listen address",
    doc: "The public URL of this server: issuer and default audience of its tokens, source of its events. Without a path. Set it before the first start: tokens name it.",
    parse: parseBaseUrl,
  },
  registryUrl: {
    env: "HOLT_REGISTRY_URL",
    fallback: "",
    fallbackDoc: "HOLT_BASE_URL",
    doc: "The public URL of the container registry, where it has a host of its own. Its host is in the names of images, and an audience that tokens may be asked for.",
    parse: parseBaseUrl,
  },
  orgName: {
    env: "HOLT_ORG_NAME",
    fallback: "my-org",
    doc: "Name of the organization that the first start makes. Later starts ignore it.",
    parse: (text) => matching(/^[a-z0-9 ._-]{1,255}$/, text, "lower-case letters, digits, spaces and . _ - only"),
  },
  vendorProfile: {
    env: "HOLT_VENDOR_PROFILE",
    fallback: "",
    doc: "Empty or `chainguard`: adds that vendor's gRPC package names, event prefix and error domains, for clients that were made for it.",
    parse: parseVendorProfile,
  },
  tlsCert: {
    env: "HOLT_TLS_CERT",
    fallback: "",
    doc: "Path of a PEM certificate chain; with HOLT_TLS_KEY, everything is served over TLS. Read again when the file changes.",
    parse: (text) => text,
  },
  tlsKey: { env: "HOLT_TLS_KEY", fallback: "", doc: "Path of the certificate's PEM private key.", parse: (text) => text },
  logLevel: {
    env: "HOLT_LOG_LEVEL",
    fallback: "info",
    doc: "`debug`, `info` (a line per call), `warn`, `error` or `silent`. The log is JSON lines on standard error.",
    parse: (text) => matching(/^(debug|info|warn|error|silent)$/, text, "debug, info, warn, error or silent") as LogLevel,
  },
  maxConcurrentCalls: {
    env: "HOLT_MAX_CONCURRENT_CALLS",
    fallback: "1024",
    doc:
      "How many calls and other requests (container registry, libraries, SCIM, feeds, sign-in) the server works on at once. It refuses one more " +
      "with RESOURCE_EXHAUSTED (HTTP 429). A transfer of a blob or of a library file counts until it ends, a download of a feed does not.",
    parse: parseInteger(1, 1_000_000),
  },
  audiences: {
    env: "HOLT_AUDIENCES",
    fallback: "",
    doc: "Audiences beside the base URL that a token exchange may ask for, comma separated: URLs, hosts, or `*.example.com`.",
    parse: parseList,
  },
  userIssuers: {
    env: "HOLT_USER_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose users may register themselves and sign in (comma separated URLs). What they say of a user's email is believed. Users of an issuer that is taken off the list are locked out. Empty: only people of organizations' identity providers register.",
    parse: (text) => parseList(text).map(parseIssuer),
  },
  loginIssuer: {
    env: "HOLT_LOGIN_ISSUER",
    fallback: "",
    doc: "OIDC issuer with which people sign in in a browser who belong to no organization with an identity provider of its own. It counts as one of HOLT_USER_ISSUERS. Empty: only organizations' providers sign people in.",
    parse: (text) => (text === "" ? text : parseIssuer(text)),
  },
  loginClientId: {
    env: "HOLT_LOGIN_CLIENT_ID",
    fallback: "",
    doc: "Client id of this server at HOLT_LOGIN_ISSUER, where `/oauth/callback` below HOLT_BASE_URL is registered as its redirect URI. It counts as one of HOLT_USER_CLIENT_IDS.",
    parse: (text) => text,
  },
  loginClientSecret: {
    env: "HOLT_LOGIN_CLIENT_SECRET",
    fallback: "",
    isSecret: true,
    doc: "Client secret that belongs to HOLT_LOGIN_CLIENT_ID. Empty for a public client.",
    parse: (text) => text,
  },
  pinnedIssuers: {
    env: "HOLT_PINNED_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose keys are read from a file instead of asked for, for servers without a way out: `issuer=path of a JWKS file` entries separated by commas. Read at start.",
    parse: parsePinnedIssuers,
  },
  userClientIds: {
    env: "HOLT_USER_CLIENT_IDS",
    fallback: "",
    doc: "Client ids with which users sign in at those issuers, comma separated: audiences of user tokens that are accepted beside this server's URL.",
    parse: parseList,
  },
  servicePrincipals: {
    env: "HOLT_SERVICE_PRINCIPALS",
    fallback: "",
    doc: "Which token subjects may assume service-principal identities: `PRINCIPAL=issuer subject` entries separated by commas, e.g. `INGESTER=https://issuer.example.com system:ingester`.",
    parse: parseServicePrincipals,
  },
  requiredTerms: {
    env: "HOLT_REQUIRED_TERMS",
    fallback: "",
    doc: "Legal documents that must be accepted for an organization before anybody writes in it, but for what administers access: `id`, `id=URL` or `id=URL label` entries separated by commas, e.g. `tos.v1=https://example.com/tos Terms of service`.",
    parse: parseRequiredTerms,
  },
  secretsKey: {
    env: "HOLT_SECRETS_KEY",
    fallback: "",
    isSecret: true,
    doc: "Key that seals the client secrets of identity providers in the database: the base64 of 32 random bytes (`openssl rand -base64 32`). Empty: the file `secrets.key` in the data folder, made at the first start. All servers of one database need the same one.",
    parse: (text) => (text === "" ? undefined : secretsKeyFrom(text)),
  },
  outboundAllowCidrs: {
    env: "HOLT_OUTBOUND_ALLOW_CIDRS",
    fallback: "",
    doc: "Private networks that Holt may call (OIDC issuers, webhooks), as comma separated CIDRs such as `10.0.0.0/8,fd00::/8`. Empty: public addresses only.",
    parse: (text) => parseList(text).map(parseCidr),
  },
  awsStsUrl: {
    env: "HOLT_AWS_STS_URL",
    fallback: "https://sts.amazonaws.com",
    doc: "Where AWS caller-identity proofs are verified.",
    parse: (text) => parseUrl(text, ["https:", "http:"]).origin,
  },
  gcGraceMs: {
    env: "HOLT_GC_GRACE",
    fallback: "24h",
    doc: "How long blobs, untagged manifests and interrupted uploads stay that no image needs, such as `24h`, `30m` or `10s`. Longer than any push takes: what a push has sent is needed only when its manifest comes.",
    parse: orZero(parseDuration(0, 10 * 365 * 24 * HOUR_MS)),
  },
  gcIntervalMs: {
    env: "HOLT_GC_INTERVAL",
    fallback: "1h",
    doc: "Pause between two collections of what is no longer needed, such as `1h`; `0` leaves them to the command `holtd gc`. Servers that share a PostgreSQL take turns, and must share the folder `blobs` too.",
    parse: orZero(parseDuration(1000, 20 * 24 * HOUR_MS)),
  },
  imagePackages: {
    env: "HOLT_IMAGE_PACKAGES",
    fallback: "on",
    doc: "Whether this server reads the packages of images that are pushed, in the background and one image at a time: `on` or `off`. What is pushed while no server does is read once one does.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  webhookBackoffMs: {
    env: "HOLT_WEBHOOK_BACKOFF",
    fallback: "5s,30s,2m,10m,1h,3h,6h",
    doc: "Pauses before an event is sent again that its sink did not take, one after the other, the last one repeatedly. Each varies by a fifth, so that not all come at once.",
    parse: parseEach(parseDuration(1, 24 * HOUR_MS)),
  },
  webhookTimeoutMs: {
    env: "HOLT_WEBHOOK_TIMEOUT",
    fallback: "30s",
    doc: "How long a sink may take to answer, from the look-up of its name on.",
    parse: parseDuration(1, HOUR_MS),
  },
  webhookGiveUpMs: {
    env: "HOLT_WEBHOOK_GIVE_UP",
    fallback: "72h",
    doc: "A subscription whose sink has taken nothing for so long is paused, and an event that it does not take while it takes others is given up. Either can be undone.",
    parse: parseDuration(1, 10 * 365 * 24 * HOUR_MS),
  },
  eventRetentionMs: {
    env: "HOLT_EVENT_RETENTION",
    fallback: "720h",
    doc: "How long events are kept, for the feed and for deliveries that are made again or late. Should be longer than HOLT_WEBHOOK_GIVE_UP: what is still to be sent then is not sent any more.",
    parse: parseDuration(1000, 10 * 365 * 24 * HOUR_MS),
  },
  importMaxBytes: {
    env: "HOLT_IMPORT_MAX_BYTES",
    fallback: "2147483648",
    doc: "How large a file of advisories or vulnerability metadata may be that is imported over the API or mirrored. It lies in the folder `imports` of the data folder until it is read; an organization may have 8 of them there.",
    parse: parseInteger(1, 1_000_000_000_000),
  },
  mirrorTimeoutMs: {
    env: "HOLT_MIRROR_TIMEOUT",
    fallback: "30m",
    doc: "How long the feed of an advisory mirror may take to be fetched, from the look-up of its name to its last byte.",
    parse: parseDuration(1, 24 * HOUR_MS),
  },
  publicAdvisories: {
    env: "HOLT_PUBLIC_ADVISORIES",
    fallback: "",
    fallbackDoc: "the organization that the first start made",
    doc: "Organizations whose approved advisories anybody may read, without a token: their uids, comma separated, `*` for all of them, or `none`.",
    parse: parsePublicOrganizations,
  },
};

/** @throws ConfigError naming every bad setting, and every HOLT_ variable that is none */
export function readConfig(env: Readonly<Record<string, string | undefined>> = process.env): Config {
  const problems = unknownVariables(env);
  const values: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const text = env[setting.env] ?? setting.fallback;
    try {
      values[key] = setting.parse(text);
    } catch (error) {
      const shown = setting.isSecret ? "***" : redacted(setting.env, text);
      problems.push(`${setting.env}: ${JSON.stringify(shown)} must be ${(error as Error).message}`);
    }
  }
  const config = values as unknown as Config;
  if ((config.tlsCert === "") !== (config.tlsKey === "")) problems.push("HOLT_TLS_CERT and HOLT_TLS_KEY must be set together");
  if (config.loginIssuer !== undefined && (config.loginIssuer === "") !== (config.loginClientId === ""))
    problems.push("HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID must be set together");
  if (config.listen?.port === 0 && config.baseUrl === "")
    problems.push("HOLT_LISTEN with port 0 (any free port) needs HOLT_BASE_URL: tokens name it");
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  const baseUrl = config.baseUrl || defaultBaseUrl(config);
  return { ...withLogin(config), baseUrl, registryUrl: config.registryUrl || baseUrl };
}

/** Whoever signs in with the operator's provider is a user of its issuer. */
function withLogin(config: Config): Config {
  if (config.loginIssuer === "") return config;
  const userIssuers = [...new Set([...config.userIssuers, config.loginIssuer])];
  return { ...config, userIssuers, userClientIds: [...new Set([...config.userClientIds, config.loginClientId])] };
}

/** Those of the named settings that the environment gives a value, as it is written there. */
export function givenSettings(
  names: readonly string[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): [string, string][] {
  return names.flatMap((name): [string, string][] => (env[name] ? [[name, env[name]]] : []));
}

function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(Object.values(settings).map((setting) => setting.env));
  return Object.keys(env)
    .filter((name) => name.startsWith("HOLT_") && !known.has(name))
    .map((name) => `${name}: is not a setting of this version; known are ${[...known].join(", ")}`);
}

/** A database URL carries a password, which belongs in no log, nor does any part of it that looks like something else. */
function redacted(name: string, text: string): string {
  return name === settings.databaseUrl.env ? text.replace(/^([a-z:]*\/\/)?.*@/s, "$1***@").replace(/\?.*$/s, "?***") : text;
}

function defaultBaseUrl({ listen, tlsCert }: Config): string {
  const wildcard = listen.host === "0.0.0.0" || listen.host === "::";
  const host = wildcard ? "127.0.0.1" : isIP(listen.host) === 6 ? `[${listen.host}]` : listen.host;
  return `${tlsCert === "" ? "http" : "https"}://${host}:${listen.port}`;
}

function parseListen(text: string): ListenAddress {
  const match = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw new Error("host:port, such as 127.0.0.1:8080 or [::1]:8080");
  return { host: match[1] ?? match[2] ?? "", port };
}

function parseDatabaseUrl(text: string): string {
  if (text === "") return text;
  const url = parseUrl(text, ["postgres:", "postgresql:"]);
  if (url.pathname.length < 2) throw new Error("empty, or a URL with the name of a database: postgres://user:password@host:5432/database");
  return text;
}

function parseBaseUrl(text: string): string {
  if (text === "") return text;
  const url = parseUrl(text, ["https:", "http:"]);
  if ((url.pathname !== "/" && url.pathname !== "") || url.search !== "" || url.hash !== "" || url.username !== "")
    throw new Error("a URL with scheme, host and port only, such as https://holt.example.com");
  return url.origin;
}

function parseUrl(text: string, protocols: readonly string[]): URL {
  const url = URL.parse(text);
  if (url === null || !protocols.includes(url.protocol))
    throw new Error(`a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`);
  return url;
}

function parseVendorProfile(text: string): VendorProfile {
  const profile = vendorProfiles.get(text);
  if (profile === undefined) throw new Error([...vendorProfiles.keys()].map((name) => name || "empty").join(" or "));
  return profile;
}

function parseInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) throw new Error(`a whole number from ${min} to ${max}`);
    return value;
  };
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: HOUR_MS };

/** In milliseconds. */
function parseDuration(min: number, max: number): (text: string) => number {
  return (text) => {
    const [, count, unit = ""] = /^(\d{1,9})(ms|[smh])$/.exec(text) ?? [];
    const value = Number(count) * (UNITS[unit] ?? 0);
    if (count === undefined || value < min || value > max)
      throw new Error(`a duration from ${min % 1000 === 0 ? `${min / 1000}s` : `${min}ms`} to ${max / HOUR_MS}h, such as 24h, 30m or 10s`);
    return value;
  };
}

function orZero(parse: (text: string) => number): (text: string) => number {
  return (text) => {
    try {
      return text === "0" ? 0 : parse(text);
    } catch (error) {
      throw new Error(`0, or ${(error as Error).message}`);
    }
  };
}

/** A comma separated list with one at least. */
function parseEach<T>(parse: (text: string) => T): (text: string) => T[] {
  return (text) => {
    try {
      return text.split(",").map((part) => parse(part.trim()));
    } catch (error) {
      throw new Error(`${(error as Error).message}, or several, separated by commas`);
    }
  };
}

function parseList(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** As it was written: issuers are compared byte by byte. */
function parseIssuer(text: string): string {
  if (!isIssuerUrl(normalizeIssuer(text))) throw new Error("URLs that start with https:// or http://, without user, query and fragment");
  return text;
}

function parseCidr(text: string): string {
  const [address = "", bits = "", ...rest] = text.split("/");
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128))
    throw new Error("a comma separated list of CIDRs, such as 10.0.0.0/8");
  return text;
}

function secretsKeyFrom(text: string): Uint8Array {
  const key = parseSecretsKey(text);
  if (key === undefined) throw new Error("empty, or the base64 of 32 bytes, such as `openssl rand -base64 32` prints");
  return key;
}

function parseServicePrincipals(text: string): ReadonlyMap<ServicePrincipal, readonly OidcSubject[]> {
  const known = new Map<ServicePrincipal, OidcSubject[]>();
  for (const entry of parseList(text)) {
    const match = /^([A-Z_]+)=(\S+) (\S+)$/.exec(entry);
    const principal = ServicePrincipal[(match?.[1] ?? "") as keyof typeof ServicePrincipal];
    const [, , issuer, subject] = match ?? [];
    if (principal === undefined || principal === ServicePrincipal.UNSPECIFIED || issuer === undefined || subject === undefined) {
      const names = Object.keys(ServicePrincipal).filter((name) => name !== "UNSPECIFIED");
      throw new Error(`entries of the form PRINCIPAL=issuer subject, separated by commas; principals are ${names.join(", ")}`);
    }
    known.set(principal, [...(known.get(principal) ?? []), { issuer, subject }]);
  }
  return known;
}

function parseRequiredTerms(text: string): RequiredTerms {
  return parseList(text).map((entry) => {
    const [, id, url = "", label] = /^([a-z0-9._-]{1,64})(?:=(https?:\/\/\S+)(?:\s+(.+))?)?$/.exec(entry) ?? [];
    if (id === undefined) throw new Error("entries of the form id, id=URL or id=URL label, separated by commas");
    return { id, url, label: label ?? id };
  });
}

function parsePublicOrganizations(text: string): PublicOrganizations {
  if (text === "") return "first";
  if (text === "*") return "all";
  if (text === "none") return "none";
  const uids = parseList(text);
  if (uids.length === 0 || !uids.every((uid) => isUid(uid) && isInRoot(uid)))
    throw new Error("empty, *, none, or uids of organizations (40 of 0-9a-f each), separated by commas");
  return [...new Set(uids)];
}

function parsePinnedIssuers(text: string): ReadonlyMap<string, unknown> {
  return new Map(
    parseList(text).map((entry) => {
      const split = entry.lastIndexOf("=");
      if (split < 1) throw new Error("entries of the form issuer=path, separated by commas");
      return [entry.slice(0, split), readJwks(entry.slice(split + 1))];
    }),
  );
}

function readJwks(path: string): unknown {
  try {
    const set: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (Array.isArray((set as { keys?: unknown } | null)?.keys)) return set;
  } catch {
    // Falls through to the same message: the operator is told which file it is.
  }
  throw new Error(`paths of JWKS files; ${path} cannot be read as one`);
}

function nonEmpty(text: string): string {
  if (text.trim() === "") throw new Error("a path");
  return text;
}

function matching(pattern: RegExp, text: string, what: string): string {
  if (!pattern.test(text)) throw new Error(what);
  return text;
}
