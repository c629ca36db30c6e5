/**
 * Fetches and caches the public keys of other issuers by OpenID Connect discovery. Verifying tokens is in
 * verify-token.ts.
 */
import type { Clock } from "../../lib/clock.ts";
import { unauthenticated, unavailable } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { type Counter, type Meter, noMeter } from "../../lib/meter.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OUTBOUND_REASONS, OutboundError } from "../../outbound/error.ts";
import { fetchDiscoveryDocument } from "./discovery-document.ts";
import { createIssuerCache } from "./issuer-cache.ts";
import { isIssuerUrl } from "./issuer-url.ts";
import { parseJwkSet, type VerificationKey } from "./jwk-set.ts";
import type { WaitLimit } from "./wait-limit.ts";

export interface JwksCache {
  /**
   * The keys of an issuer. If `isWanted` holds for none of the cached keys, fetches them again, at most every 30
   * seconds, since issuers rotate keys.
   * @throws UNAUTHENTICATED if the issuer is not a valid issuer URL; UNAVAILABLE if no usable keys are known. Only the
   * log says why: the reason would tell callers what runs in networks that the operator allows.
   */
  getKeys(issuer: string, isWanted: (key: VerificationKey) => boolean): Promise<readonly VerificationKey[]>;
}

export interface JwksOptions {
  readonly client: OutboundClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly waits: WaitLimit;
  /** The operator's issuers. */
  readonly trusted: ReadonlySet<string>;
  /** JWK sets that the operator configured for issuers that must not or cannot be contacted. */
  readonly pinned?: ReadonlyMap<string, unknown> | undefined;
  readonly meter?: Meter;
}

/** Cache entry of one issuer. Times are milliseconds; `keys` are from the last successful fetch, empty before it. */
interface Entry {
  keys: readonly VerificationKey[];
  fetchedAt: number;
  triedAt: number;
  failure: OutboundError | undefined;
  pending: Promise<void> | undefined;
}

/** After this time a fetch starts in the background; callers continue with the cached keys. */
const REFRESH_MS = 10 * 60_000;
/** After this time callers wait for the fetch, so that a withdrawn key does not stay valid where tokens are rare. */
const STALE_MS = 60 * 60_000;
/** Cached keys stay usable for this time while their issuer does not answer. */
const MAX_AGE_MS = 24 * 3_600_000;
const COOLDOWN_MS = 30_000;
/** Covers the discovery document and the keys together. */
const DISCOVERY_TIMEOUT_MS = 5000;

export function createJwksCache({ pinned, meter = noMeter, ...given }: JwksOptions): JwksCache {
  const options = { ...given, fetches: createFetchCounter(meter) };
  const pinnedKeys = new Map([...(pinned ?? [])].map(([issuer, set]) => [issuer, parseJwkSet(set)]));
  const entries = createIssuerCache<Entry>(options.trusted);
  return {
    async getKeys(issuer, isWanted) {
      const fixed = pinnedKeys.get(issuer);
      if (fixed !== undefined) return fixed;
      if (!isIssuerUrl(issuer)) throw unauthenticated("the issuer of the token is not a valid issuer URL");
      const entry = entries.get(issuer) ?? {
        keys: [],
        fetchedAt: Number.NEGATIVE_INFINITY,
        triedAt: Number.NEGATIVE_INFINITY,
        failure: undefined,
        pending: undefined,
      };
      entries.set(issuer, entry);
      await refreshIfNeeded(options, issuer, entry, isWanted);
      if (options.clock.now().getTime() - entry.fetchedAt > MAX_AGE_MS)
        throw unavailable("the keys of the token's issuer are not available at the moment", { cause: entry.failure });
      return entry.keys;
    },
  };
}

interface Fetching extends Omit<JwksOptions, "pinned" | "trusted" | "meter"> {
  readonly fetches: Counter;
}

function createFetchCounter(meter: Meter): Counter {
  return meter.counter({
    name: "holt_jwks_fetches_total",
    help: "Fetches of the keys of token issuers, by outcome (ok, or the reason of the failure).",
    labels: { outcome: new Set<string>(["ok", ...OUTBOUND_REASONS]) },
  });
}

async function refreshIfNeeded(
  options: Fetching,
  issuer: string,
  entry: Entry,
  isWanted: (key: VerificationKey) => boolean,
): Promise<void> {
  const now = options.clock.now().getTime();
  // A time that is far ahead counts as long ago: the clock was corrected since then.
  const age = Math.abs(now - entry.fetchedAt);
  const mustWait = age > STALE_MS || !entry.keys.some(isWanted);
  if (!mustWait && age <= REFRESH_MS) return;
  const mayAsk = entry.pending === undefined && Math.abs(now - entry.triedAt) >= COOLDOWN_MS;
  if (!mustWait) {
    if (mayAsk) startFetch(options, issuer, entry);
  } else if (mayAsk || entry.pending !== undefined) {
    await options.waits.wait(issuer, async () => {
      if (mayAsk) startFetch(options, issuer, entry);
      await entry.pending;
    });
  }
}

/** Starts a fetch; callers ensure there is only one per issuer. `pending` never rejects. */
function startFetch({ client, clock, log, fetches }: Fetching, issuer: string, entry: Entry): void {
  entry.triedAt = clock.now().getTime();
  entry.pending = discoverKeys(client, issuer)
    .then((keys) => {
      Object.assign(entry, { keys, fetchedAt: clock.now().getTime(), failure: undefined });
      fetches.add(1, "ok");
    })
    .catch((error: unknown) => {
      entry.failure = error instanceof OutboundError ? error : new OutboundError("body", "unusable response", { cause: error });
      fetches.add(1, entry.failure.reason);
      log.warn({ issuer, reason: entry.failure.reason, err: entry.failure }, "cannot fetch the keys of an issuer");
    })
    .then(() => {
      entry.pending = undefined;
    });
}

async function discoverKeys(client: OutboundClient, issuer: string): Promise<VerificationKey[]> {
  const limits = { signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS) };
  const document = await fetchDiscoveryDocument(client, issuer, limits);
  const keys = parseJwkSet(await client.fetchJson(jwksUrl(document, issuer), limits));
  if (keys.length === 0) throw new OutboundError("body", "the issuer publishes no usable key");
  return keys;
}

/**
 * Another origin must use https: an issuer must not make this server send requests within networks where the operator
 * allows plain http.
 */
function jwksUrl({ jwks_uri: text }: Record<string, unknown>, issuer: string): string {
  const url = typeof text === "string" ? URL.parse(text) : null;
  if (url === null) throw new OutboundError("body", "the discovery document has no jwks_uri");
  if (url.protocol !== "https:" && url.origin !== new URL(issuer).origin)
    throw new OutboundError("scheme", "the discovery document has a jwks_uri on another origin without https");
  return url.href;
}
