/** Serves `/token`: registry tokens, as the Docker registry token specification (GET) and its OAuth 2 form (POST) define it. */
import { isAnonymous, type RegistryAccess } from "../../access/principal.ts";
import { type RequestHandler, send } from "../../http/http-exchange.ts";
import type { Protocol, ProtocolExchange, ProtocolFrame } from "../../http/protocol-frame.ts";
import { readForm } from "../../http/read-form.ts";
import type { RequestMemory } from "../../http/request-memory.ts";
import { type RegistryAuthenticator, TOKEN_USER } from "../../iam/content-login/authenticate.ts";
import type { ContentCaller } from "../../iam/content-login/content-callers.ts";
import type { TokenExchange } from "../../iam/tokens/exchange-token.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { HttpOciError, responseFromError, sendOciError } from "./error.ts";
import { mintRegistryToken, type RegistryTokenOptions } from "./registry-token.ts";
import { parseScopes } from "./scope.ts";

export interface TokenHandlerOptions extends RegistryTokenOptions {
  readonly frame: ProtocolFrame;
  readonly exchange: TokenExchange;
  readonly authenticator: RegistryAuthenticator;
  readonly memory: RequestMemory;
  /** The host of the registry, which clients show when they ask for a password. */
  readonly host: string;
}

interface State {
  /** The body of a POST. */
  form: URLSearchParams | undefined;
}

type Exchange = ProtocolExchange<State>;

interface Login {
  readonly caller: ContentCaller;
  /** The next refresh token of a client that presented one. */
  readonly refreshToken?: string | undefined;
}

export function createTokenHandler(options: TokenHandlerOptions): RequestHandler {
  const protocol: Protocol<State> = {
    name: "token",
    issuesTokens: true,
    createState: () => ({ form: undefined }),
    async read({ request, response, method, state }) {
      if (method === "POST") state.form = await readForm(request, response, options.memory);
    },
    serve: (exchange) => serve(exchange, options),
    refuse({ response, reportFault }, error) {
      const answer = responseFromError(error, reportFault);
      const challenge = answer.status === 401 ? { "www-authenticate": `Basic realm="${options.host}"` } : {};
      sendOciError(response, { ...answer, headers: { ...answer.headers, ...challenge } });
    },
    logFields: ({ path }) => ({ path }),
  };
  return options.frame(protocol);
}

async function serve(exchange: Exchange, options: TokenHandlerOptions): Promise<void> {
  const { method, response, state } = exchange;
  if (!["GET", "HEAD", "POST"].includes(method)) throw new HttpOciError("UNSUPPORTED", 405, "use GET or POST", { allow: "GET, POST" });
  const parameters = state.form ?? new URLSearchParams(exchange.query);
  const scopes = parseScopes(parameters.getAll("scope"));
  const { caller, refreshToken } =
    state.form === undefined ? await loginByHeader(exchange, options) : await loginByForm(state.form, exchange.remoteAddress, options);
  // A refresh token works once: after that, its caller must get the answer.
  if (isAnonymous(caller.principal)) exchange.identify(undefined);
  else if (refreshToken === undefined) exchange.identify(caller.principal.uid);
  else exchange.principal = caller.principal.uid;
  const { token, lifetimeSeconds, access } = await mintRegistryToken(caller, scopes, options);
  const answer = {
    token,
    access_token: token,
    expires_in: lifetimeSeconds,
    issued_at: options.clock.now().toISOString(),
    ...(method === "POST" && { token_type: "Bearer", scope: access.map(scopeOf).join(" ") }),
    ...(refreshToken !== undefined && { refresh_token: refreshToken }),
  };
  send(response, 200, { type: "application/json", text: JSON.stringify(answer) }, { "cache-control": "no-store" });
}

async function loginByHeader({ request, remoteAddress }: Exchange, { authenticator }: TokenHandlerOptions): Promise<Login> {
  const caller = await authenticator.authenticate(request.headers.authorization, remoteAddress);
  if (caller === undefined) throw unauthenticated("log in: the registry does not serve anonymous callers");
  return { caller };
}

async function loginByForm(form: URLSearchParams, remoteAddress: string | undefined, options: TokenHandlerOptions): Promise<Login> {
  switch (form.get("grant_type")) {
    case "password":
      return { caller: await options.authenticator.login(form.get("username") ?? "", form.get("password") ?? "", remoteAddress) };
    case "refresh_token":
      return loginByRefreshToken(form.get("refresh_token") ?? "", remoteAddress, options);
    default:
      throw new HttpOciError("UNSUPPORTED", 400, "grant_type must be password or refresh_token");
  }
}

/** Clients keep an "identity token" between logins: either an access token of this server, or a refresh token, which works once. */
async function loginByRefreshToken(
  token: string,
  remoteAddress: string | undefined,
  { authenticator, exchange, store, clock }: TokenHandlerOptions,
): Promise<Login> {
  if (token.includes(".")) return { caller: await authenticator.login(TOKEN_USER, token, remoteAddress) };
  const prepared = await exchange.prepareRefresh({ bearer: token, aud: [], scopes: [], cap: [] }, clock.now(), store.reader);
  const tokens = await store.transaction((db) => exchange.recordExchange(db, prepared));
  return { caller: await authenticator.login(TOKEN_USER, tokens.token.token, remoteAddress), refreshToken: tokens.refreshToken?.token };
}

function scopeOf({ type, name, actions }: RegistryAccess): string {
  return `${type}:${name}:${actions.join(",")}`;
}
