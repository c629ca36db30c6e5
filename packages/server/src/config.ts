/** Every setting once: name, default, documentation and parser. Only this file reads process.env. */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { PublicOrganizations } from "./advisories/documents/publication.ts";
import type { RequiredTerms } from "./api/call/required-terms.ts";
import { type BlobPlaceSetting, type BlobRedirect, parseBlobPlace, parseRedirect } from "./blobs/blob-settings.ts";
import type { ServicePrincipals } from "./iam/tokens/workload-login.ts";
import type { LogLevel } from "./lib/log.ts";
import type { VendorProfile } from "./lib/vendor-profile.ts";
import type { PullRecordings } from "./registry/content/pull-recording.ts";
import {
  type ListenAddress,
  parseBaseUrl,
  parseCidr,
  parseDatabaseUrl,
  parseIssuer,
  parseListen,
  parseNetwork,
  parseSmtpFrom,
  parseSmtpUrl,
  parseUrl,
} from "./setting-addresses.ts";
import {
  parseAudiences,
  parseAuditStream,
  parsePinnedIssuers,
  parsePublicOrganizations,
  parsePullRecordings,
  parseRequiredTerms,
  parseServicePrincipals,
  parseTargetName,
  parseVendorProfile,
  secretsKeyFrom,
} from "./setting-parsers.ts";
import { CONFIG_FILE, type Environment, gatherSettings, knownNames, type SettingNames, suggestion } from "./setting-sources.ts";
import { HOUR_MS, matching, nonEmpty, orZero, parseDuration, parseEach, parseInteger, parseList } from "./setting-values.ts";

export interface Config {
  readonly listen: ListenAddress;
  readonly dataDir: string;
  readonly blobs: BlobPlaceSetting;
  /** Undefined unless blobs are moving. */
  readonly blobsFallback: BlobPlaceSetting | undefined;
  readonly blobsRedirect: BlobRedirect;
  /** Empty for AWS. */
  readonly s3Endpoint: string;
  readonly s3Region: string;
  readonly s3PathStyle: boolean;
  readonly databaseUrl: string;
  readonly databasePoolSize: number;
  /** 0 for never. */
  readonly databaseCheckMs: number;
  /** Without a trailing slash. */
  readonly baseUrl: string;
  /** Without a trailing slash. */
  readonly registryUrl: string;
  readonly orgName: string;
  readonly vendorProfile: VendorProfile;
  /** Whether the server serves the web console. */
  readonly console: boolean;
  readonly tlsCert: string;
  readonly tlsKey: string;
  readonly logLevel: LogLevel;
  /** Undefined for no metrics. */
  readonly metricsListen: ListenAddress | undefined;
  /** Base URL of an OTLP collector; empty for no traces. */
  readonly tracesEndpoint: string;
  readonly stopDelayMs: number;
  /** Number of server processes on this machine. */
  readonly processes: number;
  readonly maxConcurrentCalls: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxConnectionsPerCaller: number;
  readonly maxTransfersPerCaller: number;
  readonly readTimeoutMs: number;
  /** CIDRs. */
  readonly trustedProxies: readonly string[];
  readonly audiences: readonly string[];
  readonly userIssuers: readonly string[];
  /** Whether people can have accounts of this server's own. */
  readonly localAccounts: boolean;
  /** Empty if the operator has no identity provider. */
  readonly loginIssuer: string;
  readonly loginClientId: string;
  readonly loginClientSecret: string;
  /** Issuer → its JWK set. */
  readonly pinnedIssuers: ReadonlyMap<string, unknown>;
  readonly userClientIds: readonly string[];
  readonly servicePrincipals: ServicePrincipals;
  /** Undefined for a key in the data folder. */
  readonly secretsKey: Uint8Array | undefined;
  /** 0 for no limit. */
  readonly minFreeDiskBytes: number;
  /** 0 for never. */
  readonly signingKeyRotationMs: number;
  /** A folder or `s3://bucket/prefix`; empty for no archive. */
  readonly walArchive: string;
  readonly walArchiveRetentionMs: number;
  /** Empty to leave the secrets key out of backups. */
  readonly backupPassphrase: string;
  readonly requiredTerms: RequiredTerms;
  readonly outboundAllowCidrs: readonly string[];
  readonly awsStsUrl: string;
  /** `smtp://` or `smtps://` with user and password; empty for no mail. */
  readonly smtpUrl: string;
  readonly smtpFrom: string;
  readonly maxMailsPerHour: number;
  readonly gcGraceMs: number;
  /** 0 for never. */
  readonly gcIntervalMs: number;
  readonly pullEvents: PullRecordings;
  /** Whether a push creates missing folders, for callers who may. */
  readonly registryCreateFolders: boolean;
  readonly publicContent: boolean;
  /** Whether this server reads the packages of images. */
  readonly imagePackages: boolean;
  /** Path; empty for none. */
  readonly sigstoreTrustedRoot: string;
  readonly webhookBackoffMs: readonly number[];
  readonly webhookTimeoutMs: number;
  readonly webhookGiveUpMs: number;
  readonly eventRetentionMs: number;
  readonly maxSubscriptions: number;
  /** 0 for ever. */
  readonly auditRetentionMs: number;
  readonly auditCheckpointMs: number;
  /** Names of operations; a `*` at the end stands for any rest. */
  readonly auditReads: readonly string[];
  readonly auditStreams: readonly URL[];
  readonly importMaxBytes: number;
  readonly mirrorTimeoutMs: number;
  readonly publicAdvisories: PublicOrganizations;
}

/** Settings that cannot be used. The message has one line per setting: its name, its value and what it must be. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

interface Setting<T> {
  readonly env: string;
  /** The default, as an operator would write it. */
  readonly fallback: string;
  /** For the reference: one or two sentences. */
  readonly doc: string;
  /** Whether messages hide the value. */
  readonly isSecret?: boolean;
  /** Documents a default that depends on other settings. */
  readonly fallbackDoc?: string;
  /** @throws Error whose message continues "must be …" */
  parse(text: string): T;
}

type Settings = { readonly [K in keyof Config]: Setting<Config[K]> };

export const settings: Settings = {
  listen: {
    env: "HOLT_LISTEN",
    fallback: "127.0.0.1:8080",
    doc: "Address and port for REST, gRPC and every other protocol. `0.0.0.0:8080` listens on all IPv4 addresses, `[::]:8080` on all addresses.",
    parse: parseListen,
  },
  dataDir: {
    env: "HOLT_DATA_DIR",
    fallback: "./data",
    doc: "Folder of the embedded database and, unless HOLT_BLOBS says otherwise, of the registry's blobs. With PostgreSQL it holds the blobs only, and all servers share it; with blobs in S3, each server has its own. Created with mode 0700 if missing. A user who can read the database in it can act as the bootstrap owner.",
    parse: (text) => resolve(nonEmpty(text)),
  },
  blobs: {
    env: "HOLT_BLOBS",
    fallback: "folder",
    doc: "Where the content of images, libraries, waiting imports and built feeds of advisories is: `folder` for the data folder, or `s3://bucket/prefix`. Credentials come from where the AWS SDK looks: the variables `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, its files, or the machine's role. See [scaling](scaling.md).",
    parse: parseBlobPlace,
  },
  blobsFallback: {
    env: "HOLT_BLOBS_FALLBACK",
    fallback: "",
    fallbackDoc: "none",
    doc: "The other place of content while `holtd blobs migrate` moves it, in the form of HOLT_BLOBS. Servers read there what HOLT_BLOBS does not have.",
    parse: (text) => (text === "" ? undefined : parseBlobPlace(text)),
  },
  blobsRedirect: {
    env: "HOLT_BLOBS_REDIRECT",
    fallback: "off",
    doc: "`on` sends clients that pull content from S3 to presigned URLs, which are valid for 15 minutes; `off` passes the bytes through this server. The URL of an endpoint means `on`, for clients that reach S3 at another address than this server.",
    parse: parseRedirect,
  },
  s3Endpoint: {
    env: "HOLT_S3_ENDPOINT",
    fallback: "",
    fallbackDoc: "AWS",
    doc: "URL of the S3 service, such as `https://s3.example.com`, for services other than AWS.",
    parse: parseBaseUrl,
  },
  s3Region: {
    env: "HOLT_S3_REGION",
    fallback: "",
    fallbackDoc: "from `AWS_REGION` or the configuration of the AWS SDK",
    doc: "Region of the bucket.",
    parse: (text) => matching(/^[a-z0-9-]*$/, text, "empty, or a region such as eu-central-1"),
  },
  s3PathStyle: {
    env: "HOLT_S3_PATH_STYLE",
    fallback: "off",
    doc: "`on` puts the bucket into the path of URLs (`https://host/bucket/key`) instead of the host, as many services other than AWS need.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  databaseUrl: {
    env: "HOLT_DATABASE_URL",
    fallback: "",
    isSecret: true,
    doc: "Empty for SQLite in the data folder, or `postgres://user:password@host:5432/database` for PostgreSQL 15 or newer. Several servers may share one PostgreSQL. With several hosts, `postgres://…@a:5432,b:5432/database?target_session_attrs=read-write`, the server uses the one that accepts writes, and follows a failover.",
    parse: parseDatabaseUrl,
  },
  databasePoolSize: {
    env: "HOLT_DATABASE_POOL_SIZE",
    fallback: "10",
    doc: "Number of PostgreSQL connections that this server keeps for writing, and the same number again for reading.",
    parse: parseInteger(1, 1000),
  },
  databaseCheckMs: {
    env: "HOLT_DATABASE_CHECK",
    fallback: "24h",
    doc: "Pause between two checks of the SQLite file for damaged pages, in the background. `0` checks never. PostgreSQL has its own data checksums.",
    parse: orZero(parseDuration(1000, 20 * 24 * HOUR_MS)),
  },
  baseUrl: {
    env: "HOLT_BASE_URL",
    fallback: "",
    fallbackDoc: "`http://`, or `https://` with a certificate, and the listen address",
    doc: "Public URL of this server, without a path. It is the issuer and the default audience of its tokens, and the source of its events. Set it before the first start: tokens name it.",
    parse: parseBaseUrl,
  },
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
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
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
  trustedProxies: {
    env: "HOLT_TRUSTED_PROXIES",
    fallback: "",
    doc: "Addresses of reverse proxies in front of this server, as comma-separated addresses or CIDRs such as `127.0.0.1,10.0.0.0/8`. The right-most address of `X-Forwarded-For` that is not one of them is the client's, for limits, log and events. The limits of connections do not hold for proxies.",
    parse: (text) => parseList(text).map(parseNetwork),
  },
  audiences: {
    env: "HOLT_AUDIENCES",
    fallback: "",
    doc: "Additional audiences that a token exchange may request, next to the base URL. Comma-separated URLs, hosts, or `*.example.com`.",
    parse: parseAudiences,
  },
  userIssuers: {
    env: "HOLT_USER_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose users may register and sign in, as comma-separated URLs. Holt trusts their claims about a user's email. Removing an issuer locks its users out. Empty: only people of organizations' identity providers register.",
    parse: (text) => parseList(text).map(parseIssuer),
  },
  localAccounts: {
    env: "HOLT_LOCAL_ACCOUNTS",
    fallback: "on",
    doc: "`on` or `off`: whether people whom somebody invites can create an account on this server, with a passkey, or with a password and an authenticator app. With `off`, people with such an account can no longer sign in.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  loginIssuer: {
    env: "HOLT_LOGIN_ISSUER",
    fallback: "",
    doc: "OIDC issuer for browser sign-ins of people whose organization has no identity provider of its own. It counts as one of HOLT_USER_ISSUERS. Empty: only organizations' providers sign people in.",
    parse: (text) => (text === "" ? text : parseIssuer(text)),
  },
  loginClientId: {
    env: "HOLT_LOGIN_CLIENT_ID",
    fallback: "",
    doc: "Client id of this server at HOLT_LOGIN_ISSUER. Register `/oauth/callback` below HOLT_BASE_URL there as the redirect URI. It counts as one of HOLT_USER_CLIENT_IDS.",
    parse: (text) => text,
  },
  loginClientSecret: {
    env: "HOLT_LOGIN_CLIENT_SECRET",
    fallback: "",
    isSecret: true,
    doc: "Client secret of HOLT_LOGIN_CLIENT_ID. Empty for a public client.",
    parse: (text) => text,
  },
  pinnedIssuers: {
    env: "HOLT_PINNED_ISSUERS",
    fallback: "",
    doc: "OIDC issuers whose keys are read from a file instead of fetched, for servers without outbound access: comma-separated entries `issuer=path of a JWKS file`. Read at start.",
    parse: parsePinnedIssuers,
  },
  userClientIds: {
    env: "HOLT_USER_CLIENT_IDS",
    fallback: "",
    doc: "Client ids with which users sign in at those issuers, comma-separated. Tokens of users with these audiences are accepted, next to this server's URL.",
    parse: parseList,
  },
  servicePrincipals: {
    env: "HOLT_SERVICE_PRINCIPALS",
    fallback: "",
    doc: "Token subjects that may assume service-principal identities: comma-separated entries `PRINCIPAL=issuer subject`, for example `INGESTER=https://issuer.example.com system:ingester`.",
    parse: parseServicePrincipals,
  },
  requiredTerms: {
    env: "HOLT_REQUIRED_TERMS",
    fallback: "",
    doc: "Legal documents that an organization must accept before anyone writes in it; administration of access is exempt. Comma-separated entries `id`, `id=URL` or `id=URL label`, for example `tos.v1=https://example.com/tos Terms of service`.",
    parse: parseRequiredTerms,
  },
  secretsKey: {
    env: "HOLT_SECRETS_KEY",
    fallback: "",
    isSecret: true,
    doc: "Key that seals secrets in the database, such as client secrets of identity providers, keys of authenticator apps and waiting mails: 32 random bytes in base64 (`openssl rand -base64 32`). Empty: the file `secrets.key` in the data folder, created at the first start. All servers of one database need the same key.",
    parse: (text) => (text === "" ? undefined : secretsKeyFrom(text)),
  },
  minFreeDiskBytes: {
    env: "HOLT_MIN_FREE_DISK",
    fallback: "536870912",
    doc: "Bytes of the disk with HOLT_DATA_DIR, and of the disk with its folder `blobs`, that stay free. With less free space, calls and uploads that store content are refused with UNAVAILABLE (HTTP 503); reads, deletions, sign-ins and collection go on. `0` writes until the disk is full.",
    parse: parseInteger(0, Number.MAX_SAFE_INTEGER),
  },
  signingKeyRotationMs: {
    env: "HOLT_SIGNING_KEY_ROTATION",
    fallback: "720h",
    doc: "Age at which the key that signs tokens is replaced, such as `720h`. The replaced key stays published for 24 hours, and tokens live for one hour at most. `0` leaves rotation to the command `holtd keys rotate`.",
    parse: orZero(parseDuration(1000, 10 * 365 * 24 * HOUR_MS)),
  },
  walArchive: {
    env: "HOLT_WAL_ARCHIVE",
    fallback: "",
    fallbackDoc: "none",
    doc: "SQLite only: folder on another disk, or `s3://bucket/prefix`, to which the server copies every change within a second, so that `holtd restore --at` can restore the database of any second. Each installation needs its own. See [operating](operating.md#point-in-time-recovery).",
    parse: parseTargetName,
  },
  walArchiveRetentionMs: {
    env: "HOLT_WAL_ARCHIVE_RETENTION",
    fallback: "168h",
    doc: "How far back `holtd restore --at` can go, such as `168h`. Older changes are removed from HOLT_WAL_ARCHIVE.",
    parse: parseDuration(HOUR_MS, 10 * 365 * 24 * HOUR_MS),
  },
  backupPassphrase: {
    env: "HOLT_BACKUP_PASSPHRASE",
    fallback: "",
    isSecret: true,
    doc: "Passphrase with which `holtd backup` seals the secrets key, and `holtd restore` opens it. Empty leaves the key out of backups: keep a copy of it elsewhere. `holtd export` seals the secrets of an organization with it, and `holtd import org` opens them.",
    parse: (text) => text,
  },
  outboundAllowCidrs: {
    env: "HOLT_OUTBOUND_ALLOW_CIDRS",
    fallback: "",
    doc: "Private networks that Holt may connect to, for OIDC issuers, webhooks and mirrors. Comma-separated CIDRs such as `10.0.0.0/8,fd00::/8`. Empty: public addresses only.",
    parse: (text) => parseList(text).map(parseCidr),
  },
  awsStsUrl: {
    env: "HOLT_AWS_STS_URL",
    fallback: "https://sts.amazonaws.com",
    doc: "Endpoint that verifies AWS caller-identity proofs.",
    parse: (text) => parseUrl(text, ["https:", "http:"]).origin,
  },
  smtpUrl: {
    env: "HOLT_SMTP_URL",
    fallback: "",
    isSecret: true,
    doc: "Mail server that takes Holt's mails, such as `smtp://user:password@mail.example.com:587` or `smtps://mail.example.com`. Special characters of user and password are percent-encoded. `smtp://` uses STARTTLS if the server offers it, and requires it if there is a password. Empty: Holt sends no mail, and links are passed on by people.",
    parse: parseSmtpUrl,
  },
  smtpFrom: {
    env: "HOLT_SMTP_FROM",
    fallback: "",
    doc: "Sender of mails: an address, or `Name <address>`. Required with HOLT_SMTP_URL.",
    parse: parseSmtpFrom,
  },
  maxMailsPerHour: {
    env: "HOLT_MAX_MAILS_PER_HOUR",
    fallback: "2000",
    doc: "Mails that all organizations together may cause within an hour. Notices about people's own accounts do not count.",
    parse: parseInteger(1, 1_000_000_000),
  },
  gcGraceMs: {
    env: "HOLT_GC_GRACE",
    fallback: "24h",
    doc: "Retention of blobs, untagged manifests and interrupted uploads that no image needs, such as `24h`, `30m` or `10s`. It must exceed the duration of any push: blobs of a push are needed only once its manifest arrives.",
    parse: orZero(parseDuration(0, 10 * 365 * 24 * HOUR_MS)),
  },
  gcIntervalMs: {
    env: "HOLT_GC_INTERVAL",
    fallback: "1h",
    doc: "Pause between two garbage collections, such as `1h`. `0` leaves collection to the command `holtd gc`. Servers that share a PostgreSQL take turns, and must share the folder `blobs`, too.",
    parse: orZero(parseDuration(1000, 20 * 24 * HOUR_MS)),
  },
  pullEvents: {
    env: "HOLT_PULL_EVENTS",
    fallback: "manifests",
    doc: "Events of pulls from the container registry: `blobs` (one for each manifest and each blob), `manifests` (one for each manifest), `hourly` (one per hour for all pulls of a manifest under the same tag by an identity) or `off`. Entries `uid=blobs`, separated by commas, set it for an organization: `hourly,0123…cdef=blobs`.",
    parse: parsePullRecordings,
  },
  registryCreateFolders: {
    env: "HOLT_REGISTRY_CREATE_FOLDERS",
    fallback: "off",
    doc: "Whether a push to a repository below folders that do not exist creates them, if the caller may create groups there: `on` or `off`. A push never creates an organization.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  publicContent: {
    env: "HOLT_PUBLIC_CONTENT",
    fallback: "on",
    doc: "Whether owners may make groups and repositories public, so that anybody can pull from them without a login: `on` or `off`. While it is `off`, nothing is public, and the settings of owners are kept.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  imagePackages: {
    env: "HOLT_IMAGE_PACKAGES",
    fallback: "on",
    doc: "Whether this server reads the packages of pushed images, in the background and one image at a time: `on` or `off`. Images that were pushed while no server did so are read later.",
    parse: (text) => matching(/^(on|off)$/, text, "on or off") === "on",
  },
  sigstoreTrustedRoot: {
    env: "HOLT_SIGSTORE_TRUSTED_ROOT",
    fallback: "",
    doc: "Path of a `trusted_root.json`: the certificate authorities and logs that keyless signatures are verified with. Empty verifies signatures by keys only. Read at the start.",
    parse: (text) => text,
  },
  webhookBackoffMs: {
    env: "HOLT_WEBHOOK_BACKOFF",
    fallback: "5s,30s,2m,10m,1h,3h,6h",
    doc: "Pauses between the attempts to deliver an event. The last one repeats. Each pause varies by a fifth, to spread the load.",
    parse: parseEach(parseDuration(1, 24 * HOUR_MS)),
  },
  webhookTimeoutMs: {
    env: "HOLT_WEBHOOK_TIMEOUT",
    fallback: "30s",
    doc: "Time that a sink has for its response, from the look-up of its name on.",
    parse: parseDuration(1, HOUR_MS),
  },
  webhookGiveUpMs: {
    env: "HOLT_WEBHOOK_GIVE_UP",
    fallback: "72h",
    doc: "A subscription whose sink has accepted nothing for this long is paused. An event that a sink rejects for this long, while it accepts others, is given up. Both can be undone.",
    parse: parseDuration(1, 10 * 365 * 24 * HOUR_MS),
  },
  eventRetentionMs: {
    env: "HOLT_EVENT_RETENTION",
    fallback: "720h",
    doc: "Retention of events, for the feed, redeliveries and late deliveries. It should exceed HOLT_WEBHOOK_GIVE_UP: an expired event is no longer delivered.",
    parse: parseDuration(1000, 10 * 365 * 24 * HOUR_MS),
  },
  maxSubscriptions: {
    env: "HOLT_MAX_SUBSCRIPTIONS",
    fallback: "1000",
    doc: "Largest number of event subscriptions of an organization and its folders. Each event is stored once for each subscription that receives it.",
    parse: parseInteger(1, 100_000),
  },
  auditRetentionMs: {
    env: "HOLT_AUDIT_RETENTION",
    fallback: "8760h",
    doc: "Retention of audit entries. `0` keeps them for ever. The chains of organizations stay verifiable.",
    parse: orZero(parseDuration(1000, 100 * 365 * 24 * HOUR_MS)),
  },
  auditCheckpointMs: {
    env: "HOLT_AUDIT_CHECKPOINT",
    fallback: "1m",
    doc: "Time between two signed checkpoints of an audit chain that grows.",
    parse: parseDuration(100, 24 * HOUR_MS),
  },
  auditReads: {
    env: "HOLT_AUDIT_READS",
    fallback: "",
    doc: "Operations whose successful reads are audited too, as comma-separated names with or without a `*` at the end, such as `platform.iam.*,holt.v1.AccountsService/*`. Empty: changes, tokens, sign-ins and refusals only.",
    parse: (text) =>
      parseList(text).map((name) =>
        matching(/^[\w./]+\*?$/, name, "names of operations such as platform.iam.v2.GroupsService/GetGroup or platform.iam.*"),
      ),
  },
  auditStreams: {
    env: "HOLT_AUDIT_STREAMS",
    fallback: "",
    isSecret: true,
    doc: "Where sealed audit entries are sent, at least once, as comma-separated URLs: `file:///var/log/holt/audit.jsonl`, `syslog+tcp://host:601`, `syslog+tls://host:6514`, or `https://` of a webhook. A webhook in a private network needs HOLT_OUTBOUND_ALLOW_CIDRS.",
    parse: (text) => parseList(text).map(parseAuditStream),
  },
  importMaxBytes: {
    env: "HOLT_IMPORT_MAX_BYTES",
    fallback: "2147483648",
    doc: "Largest file of advisories or vulnerability metadata that can be imported over the API or mirrored, in bytes. Files wait in the folder `imports` of the data folder, at most 8 per organization.",
    parse: parseInteger(1, 1_000_000_000_000),
  },
  mirrorTimeoutMs: {
    env: "HOLT_MIRROR_TIMEOUT",
    fallback: "30m",
    doc: "Time that fetching the feed of an advisory mirror may take, from the look-up of its name to the last byte.",
    parse: parseDuration(1, 24 * HOUR_MS),
  },
  publicAdvisories: {
    env: "HOLT_PUBLIC_ADVISORIES",
    fallback: "",
    fallbackDoc: "the organization that the first start created",
    doc: "Organizations whose approved advisories anyone may read without a token: comma-separated uids, `*` for all, or `none`.",
    parse: parsePublicOrganizations,
  },
};

/** Names of settings; those of secrets have a variant `…_FILE` that names a file with the value. */
const names: SettingNames = {
  all: new Set(Object.values(settings).map(({ env }) => env)),
  secrets: new Set(Object.values(settings).flatMap(({ env, isSecret }) => (isSecret ? [env] : []))),
};

/** Reads the environment, and the files that HOLT_CONFIG and the variants of secrets name. @throws ConfigError */
export async function loadConfig(environment: Environment = process.env): Promise<Config> {
  const { values, sources, problems } = await gatherSettings(environment, names);
  return readConfig(values, { sources, problems });
}

/** A setting as `holtd config print` shows it. */
export interface PrintedSetting {
  readonly name: string;
  /** Without what is secret. */
  readonly shown: string;
  readonly source: string;
}

export async function printedSettings(environment: Environment = process.env): Promise<PrintedSetting[]> {
  const { values, sources } = await gatherSettings(environment, names);
  return Object.values(settings).map((setting) => {
    const { env: name, fallback, fallbackDoc } = setting;
    const source = sources.get(name) ?? (fallbackDoc === undefined ? "default" : `default: ${fallbackDoc.replaceAll("`", "")}`);
    return { name, shown: shownValue(setting, values[name] ?? fallback), source };
  });
}

/** @throws ConfigError that names every bad setting and every unknown HOLT_ variable */
export function readConfig(
  values: Environment,
  given: { readonly sources?: ReadonlyMap<string, string>; readonly problems?: readonly string[] } = {},
): Config {
  const problems = [...(given.problems ?? []), ...unknownVariables(values)];
  const parsed: Record<string, unknown> = {};
  for (const [key, setting] of Object.entries(settings)) {
    const text = values[setting.env] ?? setting.fallback;
    try {
      parsed[key] = setting.parse(text);
    } catch (error) {
      const source = given.sources?.get(setting.env) ?? "environment";
      const note = source === "environment" ? "" : ` (in ${source})`;
      problems.push(`${setting.env}: ${JSON.stringify(shownValue(setting, text))} must be ${(error as Error).message}${note}`);
    }
  }
  const config = parsed as unknown as Config;
  if ((config.tlsCert === "") !== (config.tlsKey === "")) problems.push("HOLT_TLS_CERT and HOLT_TLS_KEY must be set together");
  if (config.loginIssuer !== undefined && (config.loginIssuer === "") !== (config.loginClientId === ""))
    problems.push("HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID must be set together");
  if (config.loginClientSecret !== "" && config.loginClientId === "")
    problems.push("HOLT_LOGIN_CLIENT_SECRET needs HOLT_LOGIN_ISSUER and HOLT_LOGIN_CLIENT_ID");
  if (config.smtpUrl !== undefined && config.smtpFrom !== undefined && (config.smtpUrl === "") !== (config.smtpFrom === ""))
    problems.push("HOLT_SMTP_URL and HOLT_SMTP_FROM must be set together");
  if (config.walArchive !== "" && config.databaseUrl !== "")
    problems.push("HOLT_WAL_ARCHIVE is for SQLite; use the archiving of PostgreSQL itself");
  if (config.processes > 1 && config.databaseUrl === "")
    problems.push("HOLT_PROCESSES above 1 needs PostgreSQL (HOLT_DATABASE_URL): with SQLite, a data folder belongs to one process");
  if (config.listen?.port === 0 && config.baseUrl === "")
    problems.push("HOLT_LISTEN with port 0 (any free port) needs HOLT_BASE_URL: tokens name it");
  problems.push(...placeProblems(config));
  if (listensTwice(config)) problems.push("HOLT_METRICS_LISTEN must not be the address of HOLT_LISTEN");
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  const baseUrl = config.baseUrl || defaultBaseUrl(config);
  // Local accounts have this issuer, and only their own sign-in may confirm them.
  if (withLogin(config).userIssuers.some((issuer) => URL.parse(issuer)?.origin === baseUrl))
    throw new ConfigError("HOLT_USER_ISSUERS and HOLT_LOGIN_ISSUER must not be this server itself (HOLT_BASE_URL)");
  return { ...withLogin(config), baseUrl, registryUrl: config.registryUrl || baseUrl };
}

/** A copy in the same place protects nothing, and is taken for complete. */
function placeProblems({ blobs, blobsFallback, dataDir, walArchive }: Config): string[] {
  const problems: string[] = [];
  if (blobs !== undefined && isDeepStrictEqual(blobs, blobsFallback))
    problems.push("HOLT_BLOBS_FALLBACK must not be the place of HOLT_BLOBS");
  if (dataDir !== undefined && `${walArchive}/`.startsWith(`${dataDir}/`)) problems.push("HOLT_WAL_ARCHIVE must not be in HOLT_DATA_DIR");
  return problems;
}

/** Port 0 is any free port. */
function listensTwice({ listen, metricsListen }: Config): boolean {
  if (listen === undefined || metricsListen === undefined) return false;
  return listen.port !== 0 && listen.port === metricsListen.port && listen.host === metricsListen.host;
}

/** People who sign in with the operator's provider are users of its issuer. */
function withLogin(config: Config): Config {
  if (config.loginIssuer === "") return config;
  const userIssuers = [...new Set([...config.userIssuers, config.loginIssuer])];
  return { ...config, userIssuers, userClientIds: [...new Set([...config.userClientIds, config.loginClientId])] };
}

/** The named variables of the environment that are set. */
export function givenVariables(names: readonly string[], environment: Environment = process.env): [string, string][] {
  return names.flatMap((name): [string, string][] => (environment[name] ? [[name, environment[name]]] : []));
}

/** Variables of the command line (docs/cli.md), which may be set in the same shell. */
const OF_COMMAND_LINE = new Set([
  "HOLT_COMPLETION_TIMEOUT",
  "HOLT_CONFIG_DIR",
  "HOLT_CONTEXT",
  "HOLT_CREDENTIAL_STORE",
  "HOLT_TOKEN",
  "HOLT_URL",
]);

function unknownVariables(values: Environment): string[] {
  const known = new Set([...knownNames(names), CONFIG_FILE]);
  return Object.keys(values)
    .filter((name) => name.startsWith("HOLT_") && !names.all.has(name) && !OF_COMMAND_LINE.has(name))
    .map((name) => `${name}: is not a setting of this version${suggestion(name, known)}`);
}

/** The text without secrets. */
function shownValue({ env, isSecret }: Pick<Setting<unknown>, "env" | "isSecret">, text: string): string {
  if (!isSecret || text === "") return text;
  return env === settings.databaseUrl.env ? redactedUrl(text) : "***";
}

/** Shows the scheme of a database URL, and the host only if the end of the password is certain. */
function redactedUrl(text: string): string {
  const [, scheme = "", rest = ""] = /^([a-z]+:\/\/)?(.*)$/s.exec(text) ?? [];
  const host = /^[^@?#/]*@([\w.:,[\]-]+(?:\/[\w-]*)?)$/.exec(rest)?.[1];
  return `${scheme}***${host === undefined ? "" : `@${host}`}`;
}

function defaultBaseUrl({ listen, tlsCert }: Config): string {
  const wildcard = listen.host === "0.0.0.0" || listen.host === "::";
  const host = wildcard ? "127.0.0.1" : isIP(listen.host) === 6 ? `[${listen.host}]` : listen.host;
  return `${tlsCert === "" ? "http" : "https"}://${host}:${listen.port}`;
}
