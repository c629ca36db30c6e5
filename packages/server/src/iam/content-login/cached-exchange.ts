/** Exchanges the passwords of clients for principals. Some clients send a password with every request, so the result is kept. */
import { createHash } from "node:crypto";
import type { Principal } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache } from "../../lib/meter.ts";
import type { AccessTokens } from "../tokens/access-token.ts";
import type { TokenExchange } from "../tokens/exchange-token.ts";

export interface CachedExchangeOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly accessTokens: AccessTokens;
  readonly exchange: TokenExchange;
  readonly meter: Meter;
}

/** Its `proof` is a token that may assume the identity. */
export interface CachedExchange {
  /** The result of an exchange within the last minute. The session that it began may have ended. */
  recall(identityUid: string, proof: string): Principal | undefined;
  exchange(identityUid: string, proof: string): Promise<Principal>;
}

const MAX_CACHED_LOGINS = 10_000;
const CACHE_MS = 60_000;

export function createCachedExchange({ store, clock, accessTokens, exchange, meter }: CachedExchangeOptions): CachedExchange {
  const cache = new Lru<string, { principal: Principal; until: number }>(MAX_CACHED_LOGINS);
  meterCache(meter, "content-logins", cache);
  return {
    recall(identity, proof) {
      const known = cache.get(keyOf(identity, proof));
      return known !== undefined && known.until > clock.now().getTime() ? known.principal : undefined;
    },
    async exchange(identity, proof) {
      const now = clock.now();
      const prepared = await exchange.prepareExchange({ bearer: proof, identity, aud: [], scopes: [], cap: [] }, now, store.reader);
      const { token } = await store.transaction((db) => exchange.recordExchange(db, prepared));
      const principal = await accessTokens.verify(token.token);
      cache.set(keyOf(identity, proof), { principal, until: Math.min(now.getTime() + CACHE_MS, principal.expiry * 1000) });
      return principal;
    },
  };
}

function keyOf(identity: string, proof: string): string {
  return createHash("sha256").update(`${identity}\n${proof}`).digest("base64");
}
