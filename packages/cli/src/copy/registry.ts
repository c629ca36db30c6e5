/** Requests to one registry, with the login that each of its repositories asks for (OCI Distribution 1.1). */
import { HostUnreachable, sendHttp } from "@holt/client/http";
import { tokenOfContext } from "../contexts/access-token.ts";
import { findContextOfHost } from "../contexts/contexts.ts";
import { exitStatus, Failure } from "../failure.ts";
import { findDockerLogin, type Login } from "./docker-credentials.ts";

export interface RegistryRequest {
  readonly method: string;
  /** Absolute, or relative to the origin of the registry. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  /** Statuses that are answers and not failures, besides success. */
  readonly accept?: readonly number[];
}

export interface Registry {
  readonly origin: string;
  readonly host: string;
  send(request: RegistryRequest): Promise<Response>;
}

export interface RegistryOptions {
  readonly origin: string;
  readonly host: string;
  /** The value of --context, which chooses between several accounts of the host. */
  readonly contextName: string | undefined;
  /** Scopes of the token, such as `repository:team/app:pull,push`. */
  readonly scopes: readonly string[];
  readonly signal: AbortSignal;
  /** How long to wait for the headers of an answer. */
  readonly timeoutMs: number;
}

const MAX_ERROR_BYTES = 2000;

export function createRegistry({ origin, host, contextName, scopes, signal, timeoutMs }: RegistryOptions): Registry {
  let authorization: string | undefined;

  async function fetchOnce({ method, url, headers, body }: RegistryRequest): Promise<Response> {
    const target = new URL(url, origin);
    // A registry may keep its blobs on another host, which must not get the token.
    const own = target.origin === origin && authorization !== undefined ? { authorization } : {};
    return sendHttp({ method, url: target, headers: { ...headers, ...own }, ...(body !== undefined && { body }), signal, timeoutMs }).catch(
      (error: unknown) => explain(error, host),
    );
  }

  return {
    origin,
    host,
    async send(request) {
      let response = await fetchOnce(request);
      // A body that is a stream cannot be sent again, so callers begin with a request without one.
      const isRepeatable = !(request.body instanceof ReadableStream);
      // Another host, reached by a redirect or an upload's address, must not ask for the login.
      if (response.status === 401 && isRepeatable && new URL(response.url).origin === origin) {
        authorization = await authorize(response, { host, contextName, scopes, signal, timeoutMs });
        if (authorization !== undefined) {
          await response.body?.cancel();
          response = await fetchOnce(request);
        }
      }
      if (response.ok || request.accept?.includes(response.status)) return response;
      throw await refusalOf(response, host, request);
    },
  };
}

/** @returns the Authorization header for the challenge; undefined if there is none to try */
async function authorize(
  response: Response,
  { host, contextName, scopes, signal, timeoutMs }: Omit<RegistryOptions, "origin">,
): Promise<string | undefined> {
  const challenge = response.headers.get("www-authenticate") ?? "";
  const login = await findLogin(host, contextName, signal);
  const basic = login && `Basic ${Buffer.from(`${login.userName}:${login.password}`).toString("base64")}`;
  if (/^basic\b/i.test(challenge)) return basic;
  const parameters = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = "", value = ""]) => [name, value]));
  if (!/^bearer\b/i.test(challenge) || parameters.realm === undefined) return undefined;
  const token = await requestToken({ realm: parameters.realm, service: parameters.service, scopes, login, basic, signal, host, timeoutMs });
  return token && `Bearer ${token}`;
}

interface TokenRequest {
  readonly realm: string;
  readonly service: string | undefined;
  readonly scopes: readonly string[];
  readonly login: Login | undefined;
  readonly basic: string | undefined;
  readonly signal: AbortSignal;
  readonly host: string;
  readonly timeoutMs: number;
}

async function requestToken({ realm, service, scopes, login, basic, signal, host, timeoutMs }: TokenRequest): Promise<string | undefined> {
  const isIdentityToken = login?.userName === "<token>";
  const parameters = new URLSearchParams(service === undefined ? {} : { service });
  if (isIdentityToken) {
    parameters.set("grant_type", "refresh_token");
    parameters.set("refresh_token", login.password);
    parameters.set("client_id", "holt");
    parameters.set("scope", scopes.join(" "));
  } else for (const scope of scopes) parameters.append("scope", scope);
  const url = new URL(realm);
  // The challenge comes from the network: a login is sent in the clear to this machine only.
  if (login !== undefined && url.protocol !== "https:" && url.host !== host)
    throw new Failure(`${host} asks for the login at ${url.origin}, which is not encrypted`, { status: exitStatus.denied });
  if (!isIdentityToken) for (const [name, value] of parameters) url.searchParams.append(name, value);
  const headers: Record<string, string> = !isIdentityToken && basic !== undefined ? { authorization: basic } : {};
  const request = { url, signal, timeoutMs, headers };
  const answer = await sendHttp(isIdentityToken ? { ...request, method: "POST", body: parameters } : { ...request, method: "GET" }).catch(
    (error: unknown) => explain(error, url.host),
  );
  if (!answer.ok) throw await refusalOf(answer, host, { method: "GET", url: url.pathname });
  const { token, access_token } = (await answer.json()) as { token?: string; access_token?: string };
  return token ?? access_token;
}

/** The context of the host, and otherwise the login that docker has. */
async function findLogin(host: string, contextName: string | undefined, signal: AbortSignal): Promise<Login | undefined> {
  const context = findContextOfHost(host, contextName);
  if (context !== undefined) return { userName: "_token", password: (await tokenOfContext(context)(signal)).token };
  return findDockerLogin(host, signal);
}

const STATUS: Readonly<Record<number, number>> = {
  401: exitStatus.signedOut,
  403: exitStatus.denied,
  404: exitStatus.notFound,
  400: exitStatus.invalid,
  429: exitStatus.exhausted,
};

async function refusalOf(response: Response, host: string, { method, url }: RegistryRequest): Promise<Failure> {
  const body = (await response.text().catch(() => "")).slice(0, MAX_ERROR_BYTES);
  const message = messageOf(body) ?? response.statusText;
  return new Failure(`${host} answered ${response.status}${message ? `: ${message}` : ""}`, {
    status: STATUS[response.status] ?? (response.status >= 500 ? exitStatus.unavailable : exitStatus.failed),
    details: [`${method} ${new URL(url, "http://x").pathname}`],
    ...(response.status === 401 && { advice: `log in: holt login for a server of Holt, or docker login ${host}` }),
  });
}

function messageOf(body: string): string | undefined {
  try {
    const { errors } = JSON.parse(body) as { errors?: { code?: string; message?: string }[] };
    return errors?.map(({ code, message }) => message || code).join(", ");
  } catch {
    return undefined;
  }
}

function explain(error: unknown, host: string): never {
  if (!(error instanceof HostUnreachable)) throw error;
  throw new Failure(`cannot reach ${host}: ${error.message}`, {
    status: exitStatus.unavailable,
    advice: "check the name of the registry and the network",
    cause: error,
  });
}
