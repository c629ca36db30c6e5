// The rules of imports between the folders of packages/server/src. `check-architecture.js` enforces them.

/**
 * The folders from the lowest rung to the highest. A file imports from its own folder and from lower rungs, never from
 * another folder on its own rung. The empty folder name is `src` itself.
 */
export const folders = [
  { folder: "lib", rung: 1, holds: "pure: errors, uids, capability sets, proto-JSON, orders of versions, clock, log" },
  { folder: "db", rung: 2, holds: "schema, migrations, the two stores, transactions, counts" },
  { folder: "outbound", rung: 2, holds: "guarded requests to addresses that callers supply" },
  { folder: "auth", rung: 3, holds: "tokens, issuers, capabilities" },
  { folder: "blobs", rung: 3, holds: "content by digest, in a folder" },
  { folder: "events", rung: 3, holds: "the outbox and its delivery" },
  { folder: "call", rung: 4, holds: "one call from request to reply" },
  { folder: "resource", rung: 5, holds: "what all resources share" },
  { folder: "registry", rung: 6, holds: "the container registry without HTTP" },
  { folder: "libraries", rung: 6, holds: "packages of other ecosystems without HTTP" },
  { folder: "advisories", rung: 6, holds: "advisories: rules, storage, imports, feeds" },
  { folder: "sign-in", rung: 6, holds: "signing in with a browser, without HTTP" },
  { folder: "scim", rung: 6, holds: "provisioning by directories, without HTTP" },
  { folder: "services", rung: 7, holds: "one file per proto service" },
  { folder: "transport", rung: 8, holds: "bytes to calls: listener, REST, gRPC, OpenAPI and the other protocols" },
  { folder: "", rung: 9, holds: "`main`, `serve`, `commands`, `app`, `bootstrap`, `config`: arguments, settings, composition" },
];

/** Packages that only some folders may import. `except` lists further files. */
export const ownedPackages = [
  {
    packages: /^node:(http|http2|https|net|tls)$/,
    folders: ["transport"],
    except: ["config.ts", "outbound/address.ts", "outbound/connector.ts"],
    why: "transport/ speaks HTTP to clients; outbound/ has the one client; others import types only",
  },
  { packages: /^@connectrpc\//, folders: ["transport"], except: [], why: "only transport/ knows Connect" },
  { packages: /^(pg|node:sqlite)$/, folders: ["db"], except: [], why: "only db/ knows the database drivers" },
  { packages: /^undici$/, folders: ["outbound"], except: [], why: "outbound requests have one client" },
  { packages: /^scimmy$/, folders: ["scim"], except: [], why: "only scim/schema.ts knows the library" },
  { packages: /^openid-client$/, folders: ["sign-in"], except: [], why: "only sign-in/upstream.ts talks to identity providers" },
  { packages: /^pino$/, folders: ["lib"], except: [], why: "only lib/log.ts writes logs" },
];
