/** Logs in clients with the user name and the password of a pull token. */
import type { Principal } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import type { Clock } from "../../lib/clock.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { Lru } from "../../lib/lru.ts";
import { type Meter, meterCache } from "../../lib/meter.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { GuessLimit } from "./guess-limit.ts";
import { isWellFormed } from "./password.ts";
import { findByPassword, type PullTokenRecord } from "./pull-token-record.ts";

export interface PullTokenLogins {
  /**
   * The caller that the password stands for. Its rights, and whether the password still holds, are decided by
   * `Grants.loadSession`.
   * @throws UNAUTHENTICATED; RESOURCE_EXHAUSTED
   */
  login(user: string, password: string, remoteAddress: string | undefined): Promise<Principal>;
}

export interface PullTokenLoginsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, "hash">;
  /** Issuer of this server. */
  readonly issuer: string;
  /** The audience of the caller: the registry's alone. */
  readonly audience: string;
  readonly limit: GuessLimit;
  readonly meter: Meter;
}

const MAX_KNOWN_PASSWORDS = 20_000;

/** Keyed hash of a password, as it is stored. */
export function hashPassword(password: string, secrets: Pick<Secrets, "hash">): string {
  return secrets.hash(password, "pull token");
}

export function userNameOf(uid: string): string {
  return `pull-${uid.slice(uid.lastIndexOf("/") + 1)}`;
}

export function createPullTokenLogins({ store, clock, secrets, issuer, audience, limit, meter }: PullTokenLoginsOptions): PullTokenLogins {
  // By the hashes of passwords that were right. The limit does not hold for them, so that wrong passwords of one machine
  // do not lock out others behind the same address.
  const known = new Lru<string, Principal>(MAX_KNOWN_PASSWORDS);
  meterCache(meter, "pull-tokens", known);

  async function find(user: string, password: string, hash: string): Promise<Principal | undefined> {
    if (!isWellFormed(password)) return undefined;
    const token = await findByPassword(store.reader, hash);
    return token !== undefined && isUserOf(token, user) ? principalFromToken(token) : undefined;
  }

  function principalFromToken({ uid, name, secretId, expireTime }: PullTokenRecord): Principal {
    return {
      uid,
      actor: { iss: issuer, sub: uid, aud: audience, pull_token: name },
      issuer,
      audience: [audience],
      issuedAt: Math.floor(clock.now().getTime() / 1000),
      expiry: Math.floor(Date.parse(expireTime) / 1000),
      email: undefined,
      emailVerified: false,
      upstream: {},
      scopes: undefined,
      capabilities: undefined,
      pullTokenSecret: secretId,
    };
  }

  return {
    async login(user, password, remoteAddress) {
      const hash = hashPassword(`${password}`, secrets);
      const key = `${user}\n${hash}`;
      const principal = known.get(key);
      if (principal !== undefined) return principal;
      limit.assertMayTry(user, remoteAddress);
      const found = await find(user, password, hash);
      if (found === undefined) {
        limit.recordWrong(user, remoteAddress);
        throw unauthenticated("the user name or the password of the pull token is wrong, or the token was revoked");
      }
      known.set(key, found);
      return found;
    },
  };
}

function isUserOf({ uid }: PullTokenRecord, user: string): boolean {
  return user === userNameOf(uid) || user === uid;
}
