/** Keeps the rights of identities in memory until they change. */
import type { ReadDb } from "../../db/store.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache } from "../../lib/meter.ts";
import { type IdentityRights, readRights } from "./identity-rights.ts";

export interface RightsCache {
  get(uid: string): IdentityRights | undefined;
  /** Reads the rights and caches them. Callers that ask at the same time share one read. */
  load(uid: string): Promise<IdentityRights>;
  invalidate(uids: readonly string[] | "*"): void;
}

const MAX_CACHED_IDENTITIES = 20_000;

/** @param current false while this server may have missed changes of other servers */
export function createRightsCache(reader: ReadDb, current: () => boolean, meter: Meter): RightsCache {
  const cache = new Lru<string, IdentityRights>(MAX_CACHED_IDENTITIES);
  meterCache(meter, "rights", cache);
  /** Running loads that no invalidation has overtaken. */
  const pending = new Map<string, Promise<IdentityRights>>();

  /** Caches the result only if no invalidation came in between: the load may have read outdated rights. */
  function loadAndCache(uid: string): Promise<IdentityRights> {
    const loading = readRights(reader, uid)
      .then((rights) => {
        if (pending.get(uid) === loading && current()) cache.set(uid, rights);
        return rights;
      })
      .finally(() => {
        if (pending.get(uid) === loading) pending.delete(uid);
      });
    pending.set(uid, loading);
    return loading;
  }

  return {
    get: (uid) => cache.get(uid),
    load: (uid) => pending.get(uid) ?? loadAndCache(uid),
    invalidate(uids) {
      if (uids === "*") {
        cache.clear();
        pending.clear();
        return;
      }
      for (const uid of uids) {
        cache.delete(uid);
        pending.delete(uid);
      }
    },
  };
}
