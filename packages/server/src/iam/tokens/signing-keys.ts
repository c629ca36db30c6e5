/**
 * Manages the RSA keys that Holt signs tokens with. They are stored in the database and shared by all servers on it.
 */
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import type { ReadDb, Store, WriteDb } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { SigningKeyTable } from "../tables.ts";

export const SIGNING_ALGORITHM = "RS256";

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
}

export interface SigningKeys {
  /**
   * Changes whenever the set of keys changes; anything derived from the keys is stale then. Calling it also refreshes
   * the keys in the background.
   */
  generation(): number;
  /** The key to sign with. */
  current(): Promise<SigningKey>;
  /** A published key. Reads the database again before it returns undefined. */
  byKid(kid: string): Promise<SigningKey | undefined>;
  /** The published keys as a JWK set (RFC 7517): the current key, and keys retired within the last 24 hours. */
  jwks(): Promise<{ keys: JWK[] }>;
  /**
   * Creates a new current key for all servers, which notice within 30 seconds. The old keys stay published for 24
   * hours.
   */
  rotate(): Promise<SigningKey>;
  /**
   * Rotates if the current key is at least this old. Servers that do so at the same time create one key.
   * @returns in how many milliseconds the key will be so old
   */
  rotateIfOlder(ageMs: number): Promise<number>;
  /** Reads the keys from the database again. */
  refresh(): Promise<void>;
}

export interface SigningKeysOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** The keys as of one read of the table. */
interface KeySet {
  readonly keys: ReadonlyMap<string, SigningKey & { readonly publicJwk: JWK; readonly retireTime: string | null }>;
  readonly current: SigningKey;
  /** When the current key was created, in milliseconds. */
  readonly currentSince: number;
  readonly readAt: number;
}

const MAX_AGE_MS = 30_000;
const PUBLISHED_MS = 24 * 3_600_000;
/** Row of server_state that servers lock to create keys one after the other. */
const LOCK = "signing_key";

/** The keys that this server knows. They are read again once they are old, or on request. */
class KnownKeys {
  readonly #options: SigningKeysOptions;
  #set: KeySet;
  #generation = 0;
  #pending: Promise<void> | undefined;

  constructor(options: SigningKeysOptions, set: KeySet) {
    this.#options = options;
    this.#set = set;
  }

  /** The keys as they were read last. */
  get set(): KeySet {
    return this.#set;
  }

  /** Changes whenever the set of keys changes. Refreshes old keys in the background. */
  generation(): number {
    if (this.#isStale()) void this.#keepFresh();
    return this.#generation;
  }

  /** The keys, at most 30 seconds old. Older ones stay in use while the database does not answer. */
  async fresh(): Promise<KeySet> {
    if (this.#isStale()) await this.#keepFresh();
    return this.#set;
  }

  refresh(): Promise<void> {
    this.#pending ??= this.#reload().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Does not join a running refresh, which may have read the table before the change that the caller needs. */
  async refreshAnew(): Promise<void> {
    await this.#pending?.catch(() => {});
    await this.refresh();
  }

  #isStale(): boolean {
    return this.#options.clock.now().getTime() - this.#set.readAt >= MAX_AGE_MS;
  }

  #keepFresh(): Promise<void> {
    return this.refresh().catch((err: unknown) => this.#options.log.warn({ err }, "cannot refresh the signing keys"));
  }

  async #reload(): Promise<void> {
    const fresh = await loadKeySet(this.#options);
    if ([...fresh.keys.keys()].join() !== [...this.#set.keys.keys()].join()) this.#generation++;
    this.#set = fresh;
  }
}

/** Creates the first key if there is none. */
export async function createSigningKeys(options: SigningKeysOptions): Promise<SigningKeys> {
  const { store, clock, log } = options;
  if ((await readRows(store.reader, clock.now())).every(isRetired)) await createFirstKey(store, clock);
  const known = new KnownKeys(options, await loadKeySet(options));

  async function replace(ageMs: number): Promise<void> {
    const row = await generateRow(clock.now());
    const isNew = await store.transaction((db) => replaceKeys(db, row, { now: clock.now(), ageMs }));
    await known.refreshAnew();
    if (isNew) log.info({ kid: row.kid }, "created a new signing key");
  }

  return {
    generation: () => known.generation(),
    refresh: () => known.refresh(),
    current: async () => (await known.fresh()).current,
    async byKid(kid) {
      const key = (await known.fresh()).keys.get(kid);
      if (key !== undefined) return isPublished(key.retireTime, clock.now()) ? key : undefined;
      // Another server may have just created it.
      await known.refreshAnew();
      return known.set.keys.get(kid);
    },
    async jwks() {
      const { keys } = await known.fresh();
      return { keys: [...keys.values()].filter((key) => isPublished(key.retireTime, clock.now())).map((key) => key.publicJwk) };
    },
    async rotate() {
      await replace(0);
      return known.set.current;
    },
    async rotateIfOlder(ageMs) {
      const untilDue = () => known.set.currentSince + ageMs - clock.now().getTime();
      await known.refresh();
      if (untilDue() <= 0) await replace(ageMs);
      return Math.max(0, untilDue());
    },
  };
}

async function loadKeySet({ store, clock }: SigningKeysOptions): Promise<KeySet> {
  return keySetFromRows(await readRows(store.reader, clock.now()), clock.now());
}

async function createFirstKey(store: Store, clock: Clock): Promise<void> {
  const row = await generateRow(clock.now());
  await store.transaction(async (db) => {
    await lock(db);
    const rows = await readRows(db, clock.now());
    if (rows.every(isRetired)) await db.insertInto("signing_key").values(row).execute();
  });
}

interface Replacement {
  readonly now: Date;
  /** Keeps a current key that is younger, such as one that another server has just created. */
  readonly ageMs: number;
}

async function replaceKeys(db: WriteDb, row: SigningKeyTable, { now, ageMs }: Replacement): Promise<boolean> {
  await lock(db);
  const since = new Date(now.getTime() - ageMs).toISOString();
  const current = db.selectFrom("signing_key").select("kid").where("retire_time", "is", null).where("create_time", ">", since);
  if (ageMs > 0 && (await current.executeTakeFirst()) !== undefined) return false;
  await db.updateTable("signing_key").set({ retire_time: now.toISOString() }).where("retire_time", "is", null).execute();
  await db.deleteFrom("signing_key").where("retire_time", "<", publishedSince(now)).execute();
  await db.insertInto("signing_key").values(row).execute();
  return true;
}

/** An insert waits for a concurrent insert of the same name, an update for the holder of the row lock. */
async function lock(db: WriteDb): Promise<void> {
  await db
    .insertInto("server_state")
    .values({ name: LOCK, value: "" })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value: "" }))
    .execute();
}

async function readRows(db: ReadDb, now: Date): Promise<SigningKeyTable[]> {
  return db
    .selectFrom("signing_key")
    .selectAll()
    .where((where) => where.or([where("retire_time", "is", null), where("retire_time", ">=", publishedSince(now))]))
    .orderBy("create_time", "desc")
    .orderBy("kid")
    .execute();
}

function isRetired(row: SigningKeyTable): boolean {
  return row.retire_time !== null;
}

function isPublished(retireTime: string | null, now: Date): boolean {
  return retireTime === null || retireTime >= publishedSince(now);
}

function publishedSince(now: Date): string {
  return new Date(now.getTime() - PUBLISHED_MS).toISOString();
}

async function keySetFromRows(rows: readonly SigningKeyTable[], now: Date): Promise<KeySet> {
  const keys = await Promise.all(
    rows.map(async (row) => ({ ...(await importRow(row)), publicJwk: JSON.parse(row.public_jwk) as JWK, retireTime: row.retire_time })),
  );
  const current = keys.find((key) => key.retireTime === null);
  if (current === undefined) throw new Error("the database holds no current signing key");
  const since = rows.find(({ kid }) => kid === current.kid)?.create_time ?? now.toISOString();
  return { keys: new Map(keys.map((key) => [key.kid, key])), current, currentSince: Date.parse(since), readAt: now.getTime() };
}

async function importRow(row: SigningKeyTable): Promise<SigningKey> {
  const [privateKey, publicKey] = await Promise.all([importRsa(row.private_jwk), importRsa(row.public_jwk)]);
  return { kid: row.kid, privateKey, publicKey };
}

async function importRsa(text: string): Promise<CryptoKey> {
  const key = await importJWK(JSON.parse(text) as JWK, SIGNING_ALGORITHM);
  if (key instanceof Uint8Array) throw new Error("a signing key is not an RSA key");
  return key;
}

async function generateRow(now: Date): Promise<SigningKeyTable> {
  const pair = await generateKeyPair(SIGNING_ALGORITHM, { modulusLength: 2048, extractable: true });
  const [privateJwk, publicJwk] = await Promise.all([exportJWK(pair.privateKey), exportJWK(pair.publicKey)]);
  // RFC 7638: the id is a hash of the key, so no two keys share one.
  const kid = await calculateJwkThumbprint(publicJwk);
  const named = { ...publicJwk, kid, alg: SIGNING_ALGORITHM, use: "sig" };
  return {
    kid,
    private_jwk: JSON.stringify(privateJwk),
    public_jwk: JSON.stringify(named),
    create_time: now.toISOString(),
    retire_time: null,
  };
}
