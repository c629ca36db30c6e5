/**
 * Starts an identity provider for tests: a certified OpenID provider on loopback, whose page asks only for the account.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

export interface UpstreamOptions {
  /** Callback URL of Holt; several if several servers use the provider. */
  readonly redirectUris: readonly string[];
  /** Whether ID tokens have only the claims of OpenID Connect; the others are at the userinfo endpoint. */
  readonly hasShortTokens?: boolean;
  /** Called before the provider signs a token, which it does by the system's clock. */
  readonly beforeToken?: () => void;
}

export interface UpstreamProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Parameters of all requests to the authorization endpoint, oldest first. */
  readonly authorizations: readonly URLSearchParams[];
  /** Claims of an account's tokens besides `sub`, which is the account's name. */
  setClaims(account: string, claims: Readonly<Record<string, unknown>>): void;
  /** Answers every request for user information with this. */
  setUserInfo(claims: Readonly<Record<string, unknown>>): void;
  /** While down, every request, or every request for this path, gets status 503. */
  setDown(isDown: boolean, path?: string): void;
}

/** A confidential client, and one without a secret. */
export const CLIENT = { id: "holt", secret: "a secret of tests / with + signs" };
const PUBLIC_CLIENT = { id: "holt-public" };

const SCOPES = "openid email profile groups";

export async function startUpstream({
  redirectUris,
  hasShortTokens = false,
  beforeToken = () => undefined,
}: UpstreamOptions): Promise<UpstreamProvider> {
  const accounts = new Map<string, Readonly<Record<string, unknown>>>();
  const authorizations: URLSearchParams[] = [];
  let userInfo: Readonly<Record<string, unknown>> | undefined;
  let isDown = (_path: string): boolean => false;
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const common = { redirect_uris: redirectUris, grant_types: ["authorization_code"], response_types: ["code"] };
  const provider = new Provider(issuer, {
    clients: [
      { ...common, client_id: CLIENT.id, client_secret: CLIENT.secret },
      { ...common, client_id: PUBLIC_CLIENT.id, token_endpoint_auth_method: "none" },
    ],
    jwks: {
      keys: [
        { ...(await exportJWK((await generateKeyPair("RS256", { extractable: true })).privateKey)), alg: "RS256", use: "sig", kid: "1" },
      ],
    },
    cookies: { keys: ["a key of tests"] },
    conformIdTokenClaims: hasShortTokens,
    pkce: { required: () => true },
    scopes: SCOPES.split(" "),
    claims: { openid: ["sub", "oid"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub, ...accounts.get(sub) }) }),
    // Skips the consent page.
    async loadExistingGrant({ oidc }: { oidc: { client: { clientId: string }; session: { accountId: string } } }) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
      grant.addOIDCScope(SCOPES);
      await grant.save();
      return grant;
    },
  });
  const callback = provider.callback();
  server.on("request", (request, response) => {
    const url = new URL(request.url ?? "", issuer);
    if (isDown(url.pathname)) return void response.writeHead(503).end();
    if (url.pathname === "/me" && userInfo !== undefined)
      return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(userInfo));
    if (url.pathname === "/auth") authorizations.push(url.searchParams);
    if (url.pathname === "/token") beforeToken();
    if (url.pathname.startsWith("/interaction/")) void interact(provider, request, response);
    else callback(request, response);
  });

  return {
    issuer,
    authorizations,
    setClaims: (account, claims) => void accounts.set(account, claims),
    setUserInfo(claims) {
      userInfo = claims;
    },
    setDown(value, path) {
      isDown = (asked) => value && (path === undefined || path === asked);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const PAGE = `<!doctype html><html lang="en"><title>Upstream</title><h1>Upstream</h1><form method="post">
<label for="account">Account</label><input id="account" name="account"><button name="decision" value="yes">Sign in</button>
<button name="decision" value="no">Cancel</button></form></html>`;

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return void response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const form = new URLSearchParams(Buffer.concat(chunks).toString());
  const isYes = form.get("decision") === "yes";
  const result = isYes
    ? { login: { accountId: form.get("account") } }
    : { error: "access_denied", error_description: "You <b>cancelled</b> at the upstream" };
  await provider.interactionFinished(request, response, result);
}
