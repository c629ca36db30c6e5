// The rules of imports between the folders of packages/server/src. `check-architecture.js` enforces them, and
// `generate-docs.js` writes the table into ARCHITECTURE.md.

/**
 * The folders from the lowest rung to the highest. A file imports from its own folder and from lower rungs, never from
 * another folder on its own rung. `kind` says what a folder is:
 * - platform: knows no domain;
 * - domain: imports no other domain, except the public files of iam;
 * - composition: puts the platform and the domains together, and may import anything. The empty folder name is `src` itself.
 */
export const folders = [
  { folder: "lib", rung: 1, kind: "platform", holds: "pure values and functions: errors, uids, proto-JSON, version orders, clock, log" },
  { folder: "access", rung: 2, kind: "platform", holds: "who is calling and what it may do: principal, capabilities, capability sets" },
  { folder: "db", rung: 2, kind: "platform", holds: "the two stores: drivers, transactions, dialect, counts, the migration runner" },
  { folder: "outbound", rung: 2, kind: "platform", holds: "guarded requests to addresses that callers supply" },
  { folder: "audit", rung: 3, kind: "platform", holds: "appends the audit entry of a change to its transaction" },
  { folder: "archives", rung: 3, kind: "platform", holds: "zip and tar readers and one policy of limits" },
  { folder: "blobs", rung: 3, kind: "platform", holds: "content by digest, in a folder or in S3" },
  { folder: "jobs", rung: 3, kind: "platform", holds: "background work: loop, lease, worker, fair share, pacing, limits, threads" },
  { folder: "outbox", rung: 4, kind: "platform", holds: "appends the event of a write to its transaction" },
  {
    folder: "backup",
    rung: 4,
    kind: "platform",
    holds: "backups: their form, their targets, writing and restoring them; the archive of SQLite's write-ahead log",
  },
  { folder: "mail", rung: 4, kind: "platform", holds: "mails to people: a queue in the database, and SMTP" },
  { folder: "http", rung: 4, kind: "platform", holds: "listener, HTTP/1 and HTTP/2, body limits, the frame of every protocol" },
  { folder: "transfer", rung: 5, kind: "platform", holds: "one organization on its way between two servers: exporting and importing it" },
  { folder: "api/call", rung: 5, kind: "platform", holds: "one call from request to reply: authenticate, validate, authorize, run" },
  { folder: "api/resource", rung: 6, kind: "platform", holds: "what all resources share: get, list, create, update, delete, page tokens" },
  {
    folder: "api",
    rung: 7,
    kind: "platform",
    holds: "the interface of domains, errors on the wire, limits of messages, search, attention, ping",
  },
  { folder: "api/v1", rung: 7, kind: "platform", holds: "version 1 of the API as a view of version 2: conversions, whole lists" },
  { folder: "api/rest", rung: 8, kind: "platform", holds: "REST-JSON by the HTTP annotations of the contract" },
  { folder: "api/grpc", rung: 8, kind: "platform", holds: "gRPC, gRPC-Web, Connect, reflection, health" },
  { folder: "api/openapi", rung: 9, kind: "platform", holds: "the OpenAPI document and its page" },
  { folder: "metrics", rung: 9, kind: "platform", holds: "metrics of the process and the address that serves them" },
  { folder: "tracing", rung: 9, kind: "platform", holds: "traces by OpenTelemetry, loaded only with an endpoint" },
  { folder: "console", rung: 9, kind: "platform", holds: "the web console as packages/console builds it: files, security headers" },
  { folder: "iam", rung: 10, kind: "domain", holds: "groups, identities, roles, bindings, tokens, identity providers, invites" },
  { folder: "events", rung: 11, kind: "domain", holds: "subscriptions, deliveries to webhooks, the feed of events" },
  { folder: "auditing", rung: 11, kind: "domain", holds: "the audit log: chains, checkpoints, retention, streams, its service" },
  { folder: "registry", rung: 11, kind: "domain", holds: "the container registry: names, manifests, tags, collection, packages in images" },
  { folder: "libraries", rung: 11, kind: "domain", holds: "Python and Java packages: publishing, serving, importing" },
  {
    folder: "advisories",
    rung: 11,
    kind: "domain",
    holds: "advisories: writing, importing, mirrors, documents, feeds, reports, open vulnerabilities",
  },
  { folder: "scim", rung: 11, kind: "domain", holds: "SCIM 2.0: what a company's directory provisions" },
  { folder: "sign-in", rung: 11, kind: "domain", holds: "signing in with a browser, on a device, or without a screen" },
  {
    folder: "supervisor",
    rung: 12,
    kind: "composition",
    holds: "several server processes on one port: starting, restarting, stopping; their logs and metrics",
  },
  { folder: "settings", rung: 12, kind: "composition", holds: "every setting, by subject: name, default, documentation, parser" },
  { folder: "cli", rung: 12, kind: "composition", holds: "the commands of holtd other than serve" },
  {
    folder: "",
    rung: 12,
    kind: "composition",
    holds:
      "`main`, `serve`, `app`, `domains`, `start-platform`, `start-transports`, `config`, `bootstrap`, `unimplemented`, `welcome`: " +
      "arguments, settings, composition",
  },
];

/** Files and folders of iam that other domains may import. */
export const publicOfIam = [
  "iam/iam.ts",
  "iam/accounts/",
  "iam/content-login/",
  "iam/grants/grants.ts",
  "iam/grants/staff.ts",
  "iam/identities/",
  "iam/joining/",
  "iam/policy/",
  "iam/public-content/",
  "iam/secrets/secrets.ts",
  "iam/sessions/",
  "iam/signers/",
  "iam/tokens/",
];

/** Packages that only some folders may import. `except` lists further files. */
export const ownedPackages = [
  {
    packages: /^node:(http|http2|https|net|tls)$/,
    folders: ["http", "api/grpc"],
    except: [
      "config.ts",
      "settings/addresses.ts",
      "outbound/address.ts",
      "outbound/connector.ts",
      "outbound/syslog.ts",
      "metrics/metrics-listener.ts",
      "cli/doctor/check-connectivity.ts",
      "cli/doctor/check-names.ts",
      "cli/doctor/check-certificate.ts",
    ],
    why:
      "http/ speaks HTTP to clients; outbound/ has the one client; " +
      "the listed files parse addresses, open test connections, send syslog or serve metrics",
  },
  { packages: /^@connectrpc\//, folders: ["api/grpc"], except: ["api/status.ts"], why: "only api/grpc knows Connect" },
  { packages: /^(pg|pg-copy-streams|node:sqlite)$/, folders: ["db"], except: [], why: "only db/ knows the database drivers" },
  { packages: /^undici$/, folders: ["outbound"], except: [], why: "outbound requests have one client" },
  { packages: /^nodemailer$/, folders: ["mail"], except: [], why: "only mail/smtp.ts talks to mail servers" },
  { packages: /^scimmy$/, folders: ["scim"], except: [], why: "only scim/schema.ts knows the library" },
  { packages: /^openid-client$/, folders: ["sign-in"], except: [], why: "only sign-in/upstream.ts talks to identity providers" },
  { packages: /^@simplewebauthn\//, folders: ["iam"], except: [], why: "only iam/accounts/webauthn.ts knows the library" },
  { packages: /^@zxcvbn-ts\//, folders: ["iam"], except: [], why: "only iam/accounts/password-rules.ts knows the list" },
  { packages: /^qr$/, folders: ["sign-in"], except: [], why: "only sign-in draws QR codes" },
  {
    packages: /^prom-client$/,
    folders: ["metrics"],
    except: [],
    why: "only metrics/prometheus.ts knows the library; others report to lib/meter.ts",
  },
  {
    packages: /^@opentelemetry\//,
    folders: ["tracing"],
    except: [],
    why: "only tracing/open-telemetry.ts knows the libraries; others report to lib/tracer.ts",
  },
  { packages: /^pino$/, folders: ["lib"], except: [], why: "only lib/log.ts writes logs" },
  { packages: /^packageurl-js$/, folders: ["lib"], except: [], why: "only lib/package-url.ts knows the library" },
  { packages: /^@sigstore\//, folders: ["lib"], except: [], why: "only lib/sigstore knows the library" },
  { packages: /^yaml$/, folders: ["lib"], except: [], why: "only lib/yaml.ts knows the library" },
  { packages: /^@aws-sdk\//, folders: ["blobs"], except: [], why: "only blobs/s3/ knows the SDK" },
  { packages: /^(yauzl|tar-stream)$/, folders: ["archives"], except: [], why: "only archives/ reads archives" },
];

/** Functions that construct what exists once in a process, and the only files that may import them. */
export const ownedNames = [
  {
    names: ["openStore", "createSigningKeys", "openSecrets"],
    importers: ["cli/open-installation.ts"],
    why: "only openInstallation opens stores, blobs and keys",
  },
  {
    names: ["createFilesystemBlobs", "createS3Blobs", "createFallbackBlobs"],
    importers: ["blobs/open-blobs.ts"],
    why: "only openBlobs opens stores of blobs",
  },
];

const domains = folders.filter(({ kind }) => kind === "domain").map(({ folder }) => folder);

/** Files that only the composition may import, types included. */
export const composedFiles = {
  files: domains.flatMap((folder) => [`${folder}/module.ts`, `${folder}/domain.ts`]),
  importers: ["app.ts", "domains.ts"],
  why: "only app.ts and domains.ts know all domains",
};

/** Files that every command loads, and the files that they may import besides types. */
export const lightFiles = {
  files: ["domains.ts", ...domains.map((folder) => `${folder}/domain.ts`)],
  imports: /^(lib\/|db\/migrate\.ts$|transfer\/platform-tables\.ts$|[\w-]+\/(migrations\/|(organization-)?tables\.ts$|domain\.ts$))/,
  why: "every command loads this file, so it imports migrations, tables and lib/ only; the rest belongs in module.ts",
};

/** The rules of packages/cli/src. Startup is fast because `main.ts` loads nothing before it knows the command. */
export const commandLine = {
  /** Packages, and the only files that may import them besides types; undefined for all files. */
  packages: [
    { packages: /^commander$/, files: /^command\/parse-line\.ts$/, why: "only parse-line.ts knows the parser" },
    { packages: /^yaml$/, files: undefined, why: "" },
    { packages: /^@napi-rs\/keyring$/, files: /^contexts\/keyring\.ts$/, why: "only keyring.ts knows the library" },
    { packages: /^jq-wasm$/, files: /^output\/jq\.ts$/, why: "only output/jq.ts knows the library" },
    { packages: /^@holt\/client(\/|$)/, files: undefined, why: "" },
    { packages: /^node:(http|https|net|tls|http2)$/, files: /^login\/browser\.ts$/, why: "@holt/client has the HTTP code" },
    { packages: /^node:/, files: undefined, why: "" },
  ],
  /** Dynamic imports are free: they run with the command that needs them. */
  startFile: "main.ts",
  startImports: /^\.\/version\.ts$/,
};
