/** Calls of the API: the transport of all screens, and the cache of its answers. */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { rememberScope } from "./call-scope.ts";
import { requestIdHeader } from "./request-id.ts";
import { withToken } from "./with-token.ts";

/** Sends the token and an id of the request. */
const authenticate: Interceptor = (next) => async (request) => {
  const id = newRequestId();
  request.header.set(requestIdHeader, id);
  try {
    return await withToken((token) => {
      request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    });
  } catch (error) {
    const failure = failureFrom(error);
    if (!request.stream) rememberScope(failure, request.method.input, request.message);
    if (!failure.metadata.has(requestIdHeader)) failure.metadata.set(requestIdHeader, id);
    throw failure;
  }
};

/**
 * A browser throws a TypeError if it cannot reach the server, with a message of its own. An answer of
 * something else than the API has only its status as the message.
 */
function failureFrom(thrown: unknown): ConnectError {
  const error = ConnectError.from(thrown);
  if (error.cause instanceof TypeError) return withMessage(error, "The server cannot be reached", Code.Unavailable);
  if (!/^HTTP \d+$/.test(error.rawMessage)) return error;
  return withMessage(error, `The server, or a proxy in front of it, answered ${error.rawMessage}. Try again`, error.code);
}

function withMessage({ metadata, cause }: ConnectError, message: string, code: Code): ConnectError {
  return new ConnectError(message, code, metadata, undefined, cause);
}

function newRequestId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const transport = createConnectTransport({ baseUrl: location.origin, interceptors: [authenticate] });

const MAX_RETRIES = 2;

/** Whether the same call may succeed later. A call that was refused stays refused. */
export function isPassing(error: unknown): boolean {
  return [Code.Unavailable, Code.ResourceExhausted, Code.Aborted].includes(ConnectError.from(error).code);
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache(),
  // After any change, every screen reads again what it shows.
  mutationCache: new MutationCache({ onSuccess: () => void queryClient.invalidateQueries() }),
  defaultOptions: {
    queries: {
      // Where the browser is offline, requests fail instead of waiting. The server may be reachable all the same.
      networkMode: "always",
      refetchOnReconnect: true,
      retry: (count, error) => count < MAX_RETRIES && isPassing(error),
      staleTime: 10_000,
      refetchOnWindowFocus: false,
    },
    mutations: { networkMode: "always", retry: false },
  },
});
