/** The public keys of other issuers, found by OpenID Connect discovery and kept for a while. Decides nothing about tokens: that is verify-token.ts. */
import type { Clock } from "../../lib/clock.ts";
import { unauthenticated, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { Lru } from "../../lib/lru.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { isIssuerUrl } from "./issuer-url.ts";
import { isRecord, parseJwkSet, type VerificationKey } from "./jwk-set.ts";
import type { WaitLimit } from "./wait-limit.ts";

export interface JwksCache {
  /**
   * The keys of an issuer. Where `isWanted` is true of none of them they are fetched anew, at most every 30 seconds: issuers rotate.
   * @throws UNAUTHENTICATED for what is no issuer by its look; UNAVAILABLE when nothing usable is known of it. Why is in the log alone:
   * callers could find out otherwise what there is on the networks that the operator allows
   */
  keysOf(issuer: string, isWanted: (key: VerificationKey) => boolean): Promise<readonly VerificationKey[]>;
}

export interface JwksOptions {
  readonly client: OutboundClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly waits: WaitLimit;
  /** JWK sets the operator gave for issuers that must not be, or cannot be, asked. */
  readonly pinned?: ReadonlyMap<string, unknown> | undefined;
}

/** What is known of one issuer. Times are milliseconds; `keys` are those of the last good answer, empty before it. */
interface Entry {
  keys: readonly VerificationKey[];
  fetchedAt: number;
  triedAt: number;
  failure: OutboundError | undefined;
  pending: Promise<void> | undefined;
}

/** After this long a fetch is started while the known keys still serve. */
const REFRESH_MS = 10 * 60_000;
/** After this long the answer is waited for, so that a key an issuer has withdrawn does not live on where tokens are rare. */
const STALE_MS = 60 * 60_000;
/** For so long known keys outlive their issuer's silence. */
const KEEP_MS = 24 * 3_600_000;
const COOLDOWN_MS = 30_000;
const MAX_ISSUERS = 256;
/** For the discovery document and the keys together. */
const DISCOVERY_TIMEOUT_MS = 5000;

export function createJwksCache({ pinned, ...options }: JwksOptions): JwksCache {
  const pinnedKeys = new Map([...(pinned ?? [])].map(([issuer, set]) => [issuer, parseJwkSet(set)]));
  const entries = new Lru<string, Entry>(MAX_ISSUERS);
  return {
    async keysOf(issuer, isWanted) {
      const fixed = pinnedKeys.get(issuer);
      if (fixed !== undefined) return fixed;
      if (!isIssuerUrl(issuer)) throw unauthenticated("the issuer of the token is not one that has keys to ask for");
      const entry = entries.get(issuer) ?? {
        keys: [],
        fetchedAt: Number.NEGATIVE_INFINITY,
        triedAt: Number.NEGATIVE_INFINITY,
        failure: undefined,
        pending: undefined,
      };
      entries.set(issuer, entry);
      await freshen(options, issuer, entry, isWanted);
      if (options.clock.now().getTime() - entry.fetchedAt > KEEP_MS)
        throw unavailable("the issuer of the token does not give its keys to this server now", { cause: entry.failure });
      return entry.keys;
    },
  };
}

type Fetching = Omit<JwksOptions, "pinned">;

async function freshen(options: Fetching, issuer: string, entry: Entry, isWanted: (key: VerificationKey) => boolean): Promise<void> {
  const now = options.clock.now().getTime();
  const age = now - entry.fetchedAt;
  const mustWait = age > STALE_MS || !entry.keys.some(isWanted);
  if (!mustWait && age <= REFRESH_MS) return;
  const mayAsk = entry.pending === undefined && now - entry.triedAt >= COOLDOWN_MS;
  if (!mustWait) {
    if (mayAsk) startFetch(options, issuer, entry);
  } else if (mayAsk || entry.pending !== undefined) {
    await options.waits.wait(issuer, async () => {
      if (mayAsk) startFetch(options, issuer, entry);
      await entry.pending;
    });
  }
}

/** One fetch per issuer at a time; `pending` never rejects. */
function startFetch({ client, clock, log }: Fetching, issuer: string, entry: Entry): void {
  entry.triedAt = clock.now().getTime();
  entry.pending = discoverKeys(client, issuer)
    .then((keys) => Object.assign(entry, { keys, fetchedAt: clock.now().getTime(), failure: undefined }))
    .catch((error: unknown) => {
      entry.failure = error instanceof OutboundError ? error : new OutboundError("body", "the answer cannot be used", { cause: error });
      log.warn({ issuer, reason: entry.failure.reason, err: entry.failure }, "the keys of an issuer could not be fetched");
    })
    .then(() => {
      entry.pending = undefined;
    });
}

/** OpenID Connect Discovery 1.0 §4: the document must name the issuer it was asked for, byte for byte (§4.3), or it speaks for somebody else. */
async function discoverKeys(client: OutboundClient, issuer: string): Promise<VerificationKey[]> {
  const limits = { signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS) };
  const document = await client.fetchJson(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, limits);
  if (!isRecord(document) || document.issuer !== issuer) throw new OutboundError("body", "the discovery document names another issuer");
  const keys = parseJwkSet(await client.fetchJson(keysUrlOf(document, issuer), limits));
  if (keys.length === 0) throw new OutboundError("body", "the issuer publishes no usable key");
  return keys;
}

/** Elsewhere by https only: an issuer must not choose what this server asks for on a network where the operator allows plain http. */
function keysUrlOf({ jwks_uri: text }: Record<string, unknown>, issuer: string): string {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null) throw new OutboundError("body", "the discovery document names no keys");
  if (url.protocol !== "https:" && url.origin !== new URL(issuer).origin)
    throw new OutboundError("scheme", "the discovery document names keys elsewhere that are not reached by https");
  return url.href;
}
