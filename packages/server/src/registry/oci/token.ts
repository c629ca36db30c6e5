/** `/token`: makes registry tokens, as the Docker registry token specification (GET) and its OAuth 2 form (POST) describe it. */

import { NO_ACCESS } from "../../access/capabilities.ts";
import type { RegistryAccess } from "../../access/principal.ts";
import type { Store } from "../../db/store.ts";
import { type HttpRequest, type HttpResponse, send } from "../../http/http-exchange.ts";
import { readBody } from "../../http/read-body.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { type RegistryAuthenticator, TOKEN_USER } from "../../iam/content-login/authenticate.ts";
import type { AccessTokens } from "../../iam/tokens/access-token.ts";
import { MAX_LIFETIME_SECONDS } from "../../iam/tokens/access-token.ts";
import type { ExchangedTokens, TokenExchange } from "../../iam/tokens/exchange-token.ts";
import type { Clock } from "../../lib/clock.ts";
import { unauthenticated } from "../../lib/errors.ts";
import type { Log } from "../../lib/log.ts";
import { allowedActions, type RegistryCaller } from "../open-repo.ts";
import { answerFromError, HttpOciError, sendOciError } from "./error.ts";
import { parseScopes, type Scope } from "./scope.ts";

export interface TokenOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly accessTokens: AccessTokens;
  readonly exchange: TokenExchange;
  readonly authenticator: RegistryAuthenticator;
  readonly memory: RequestMemory;
  /** Audience of the tokens that are made: not the API's, which must not take them. */
  readonly audience: string;
  readonly host: string;
}

interface Grant {
  readonly caller: RegistryCaller;
  readonly scopes: readonly Scope[];
  /** For the next time, where the client came with one. */
  readonly refreshToken?: string | undefined;
}

/** Answers everything; the promise never rejects. */
export function createTokenHandler(options: TokenOptions): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const { log, host } = options;
  return async (request, response) => {
    try {
      const { caller, scopes, refreshToken } = await readGrant(request, options);
      const { token, seconds, access } = await makeToken(caller, scopes, options);
      const answer = {
        token,
        access_token: token,
        expires_in: seconds,
        issued_at: options.clock.now().toISOString(),
        ...(request.method === "POST" && { token_type: "Bearer", scope: access.map(textOf).join(" ") }),
        ...(refreshToken !== undefined && { refresh_token: refreshToken }),
      };
      send(response, 200, "application/json", JSON.stringify(answer), { "cache-control": "no-store" });
    } catch (error) {
      const answer = answerFromError(error, log);
      const headers = answer.status === 401 ? { "www-authenticate": `Basic realm="${host}"` } : {};
      sendOciError(response, { ...answer, headers: { ...answer.headers, ...headers } });
    }
  };
}

function readGrant(request: HttpRequest, options: TokenOptions): Promise<Grant> {
  switch (request.method) {
    case "GET":
    case "HEAD":
      return fromQuery(request, options);
    case "POST":
      return fromForm(request, options);
    default:
      throw new HttpOciError("UNSUPPORTED", 405, "use GET or POST", { allow: "GET, POST" });
  }
}

async function fromQuery(request: HttpRequest, { authenticator }: TokenOptions): Promise<Grant> {
  const query = new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? "");
  const caller = await authenticator.authenticate(request.headers.authorization);
  if (caller === undefined) throw unauthenticated("log in: anonymous callers may do nothing here");
  return { caller, scopes: parseScopes(query.getAll("scope")) };
}

async function fromForm(request: HttpRequest, options: TokenOptions): Promise<Grant> {
  const form = await readForm(request, options);
  const scopes = parseScopes(form.getAll("scope"));
  const { authenticator } = options;
  switch (form.get("grant_type")) {
    case "password":
      return { caller: await authenticator.login(form.get("username") ?? "", form.get("password") ?? ""), scopes };
    case "refresh_token":
      return { ...(await refreshed(form.get("refresh_token") ?? "", options)), scopes };
    default:
      throw new HttpOciError("UNSUPPORTED", 400, "grant_type must be password or refresh_token");
  }
}

async function readForm(request: HttpRequest, { memory }: TokenOptions): Promise<URLSearchParams> {
  const allowance = memory.allowStranger();
  try {
    return new URLSearchParams((await readBody(request, allowance)).toString("utf8"));
  } finally {
    allowance.release();
  }
}

/** A client keeps what it has as an identity token: one of our access tokens, or a refresh token, which is good for once. */
async function refreshed(token: string, { authenticator, exchange, store, clock }: TokenOptions): Promise<Omit<Grant, "scopes">> {
  if (token.includes(".")) return { caller: await authenticator.login(TOKEN_USER, token) };
  const prepared = await exchange.prepareRefresh({ bearer: token, aud: [], scopes: [], cap: [] }, clock.now(), store.reader);
  const tokens: ExchangedTokens = await store.transaction((db) => exchange.recordExchange(db, prepared));
  return { caller: await authenticator.login(TOKEN_USER, tokens.token.token), refreshToken: tokens.refreshToken?.token };
}

interface MadeToken {
  readonly token: string;
  readonly seconds: number;
  readonly access: readonly RegistryAccess[];
}

/** For no longer than what it is made of, and for no more. */
async function makeToken(caller: RegistryCaller, scopes: readonly Scope[], options: TokenOptions): Promise<MadeToken> {
  const { principal } = caller;
  const now = options.clock.now();
  const access = await accessOf(caller, scopes, options);
  const seconds = Math.min(MAX_LIFETIME_SECONDS, principal.expiry - Math.floor(now.getTime() / 1000));
  const { uid, actor, email, emailVerified, upstream, scopes: groups, capabilities, within, session } = principal;
  const rest = { email, emailVerified, upstream, scopes: groups, capabilities, within, session };
  const content = { uid, actor, ...rest, audience: [options.audience] };
  const { token } = await options.accessTokens.mint(
    { ...content, access: NO_ACCESS, registryAccess: access, lifetimeSeconds: seconds },
    now,
  );
  return { token, seconds, access };
}

async function accessOf(caller: RegistryCaller, scopes: readonly Scope[], { store }: TokenOptions): Promise<RegistryAccess[]> {
  const access: RegistryAccess[] = [];
  for (const { type, name, actions } of scopes) {
    if (type !== "repository") continue;
    const allowed = await allowedActions(store.reader, name, caller, actions);
    const kept = allowed.filter((action) => isLeft(caller.principal.registryAccess, name, action));
    if (kept.length > 0) access.push({ type, name, actions: kept });
  }
  return access;
}

function isLeft(registryAccess: readonly RegistryAccess[] | undefined, name: string, action: string): boolean {
  return registryAccess === undefined || registryAccess.some((entry) => entry.name === name && entry.actions.includes(action));
}

function textOf({ type, name, actions }: RegistryAccess): string {
  return `${type}:${name}:${actions.join(",")}`;
}
