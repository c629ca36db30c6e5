/**
 * Exchanges proofs (tokens of other issuers, Holt's own tokens, AWS proofs, refresh tokens) for short-lived access
 * tokens. login.ts decides which identity a proof stands for, narrowing.ts which rights the new token keeps. The
 * service in api/ speaks the wire format.
 */
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { BrowserCookie, ExchangeRequest, LoginRequest, RefreshRequest } from "./exchange-request.ts";
import type { Login } from "./login.ts";
import { type ExchangeParts, prepareExchange, prepareLogin, prepareRefresh, prepareSession } from "./prepare-exchange.ts";
import { type ExchangedTokens, type PreparedExchange, recordExchange } from "./record-exchange.ts";

export interface TokenExchange {
  /**
   * Decides the exchange: network and cryptography, but no writes. The exception is a reused refresh token: its family
   * is revoked at once.
   */
  prepareExchange(request: ExchangeRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /** As `prepareExchange`, for a login that is already decided. */
  prepareLogin(login: Login, request: LoginRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  prepareRefresh(request: RefreshRequest, now: Date, db: ReadDb): Promise<PreparedExchange>;
  /**
   * As `prepareRefresh`, for the session of a browser, which stays the same.
   * @returns undefined if the session has ended
   */
  prepareSession(cookie: BrowserCookie, now: Date, db: ReadDb): Promise<PreparedExchange | undefined>;
  /** Writes a prepared exchange. The tokens are valid once the transaction is durable. */
  recordExchange(db: WriteDb, prepared: PreparedExchange): Promise<ExchangedTokens>;
}

export function createTokenExchange(parts: ExchangeParts): TokenExchange {
  return {
    prepareExchange: (request, now, db) => prepareExchange(request, now, db, parts),
    prepareLogin: (login, request, now, db) => prepareLogin(login, request, { now, db }, parts),
    prepareRefresh: (request, now, db) => prepareRefresh(request, now, db, parts),
    prepareSession: (cookie, now, db) => prepareSession(cookie, now, db, parts),
    recordExchange: (db, prepared) => recordExchange(db, prepared, parts),
  };
}
