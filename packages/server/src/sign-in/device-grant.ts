/** Serves the device grant (RFC 8628 §3.1, §3.4) to programs without a browser. */

import type { Store } from "../db/store.ts";
import type { LoginClient } from "../iam/sessions/login-session.ts";
import type { AudienceList } from "../iam/tokens/audience.ts";
import type { TokenExchange } from "../iam/tokens/exchange-token.ts";
import { type LoginTokens, loginFromStored } from "../iam/tokens/login-token.ts";
import type { Clock } from "../lib/clock.ts";
import { insertDevice, type NewDevice, type PollProblem, pollDevice } from "./device.ts";
import type { StartLimit } from "./start-limit.ts";

export interface DeviceTokens {
  readonly accessToken: string;
  readonly expiresInSeconds: number;
  /** A login token. Exchanging it also gives a refresh token. */
  readonly idToken: string;
}

export interface DeviceGrant {
  /**
   * @returns undefined for an invalid client ID
   * @throws SignInRefusal
   */
  authorize(clientId: string, remoteAddress: string | undefined): Promise<NewDevice | undefined>;
  /** @throws HoltError if the person may no longer sign in */
  poll(deviceCode: string, clientId: string, client: LoginClient): Promise<DeviceTokens | PollProblem>;
}

export interface DeviceGrantOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly exchange: TokenExchange;
  readonly loginTokens: LoginTokens;
  /** Audiences of Holt's tokens. No program may call itself by one: the page shows its name, and ID tokens contain it. */
  readonly issuable: AudienceList;
  readonly limit: StartLimit;
}

/** Programs are not registered: a program chooses its own client ID, and the page shows it to the person. */
const CLIENT_ID = /^[A-Za-z0-9._-]{1,64}$/;

export function createDeviceGrant({ store, clock, exchange, loginTokens, issuable, limit }: DeviceGrantOptions): DeviceGrant {
  return {
    async authorize(clientId, remoteAddress) {
      if (!CLIENT_ID.test(clientId) || issuable.has(clientId)) return undefined;
      limit.take(remoteAddress);
      return store.transaction((db) => insertDevice(db, clientId, clock.now()));
    },
    async poll(deviceCode, clientId, client) {
      const now = clock.now();
      const signedIn = await pollDevice(store, deviceCode, clientId, now);
      if (typeof signedIn === "string") return signedIn;
      const wanted = {
        aud: [],
        scopes: [],
        cap: [],
        identity: "",
        wantsRefreshToken: false,
        origin: { ...client, kind: "device" as const, client: clientId },
      };
      const prepared = await exchange.prepareLogin(loginFromStored(signedIn), wanted, now, store.reader);
      const { token } = await store.transaction((db) => exchange.recordExchange(db, prepared));
      const idToken = await loginTokens.mint(signedIn, clientId, now);
      return {
        accessToken: token.token,
        expiresInSeconds: Math.floor((token.expiry.getTime() - now.getTime()) / 1000),
        idToken: idToken.token,
      };
    },
  };
}
