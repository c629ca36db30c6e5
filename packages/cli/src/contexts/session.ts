/** A server with a token, for the calls of a command. */
import type { HoltClient, TokenSource } from "@holt/client";
import { createRest, type Rest, type RestRecord } from "@holt/client/rest";
import { tokenOfContext } from "./access-token.ts";
import type { NamedContext } from "./contexts.ts";

export interface Session {
  readonly context: NamedContext;
  readonly token: TokenSource;
  /** Calls by path, which load nothing of the contract. */
  readonly rest: Rest;
  /** Typed calls. Loads the contract, which takes longer than a call. */
  client(): Promise<HoltClient>;
}

export interface SessionOptions {
  readonly isVerbose: boolean;
  /** Timeout of each response; default 60 seconds. */
  readonly timeoutMs?: number;
}

export function openSession(context: NamedContext, { isVerbose, timeoutMs = 60_000 }: SessionOptions): Session {
  const token = tokenOfContext(context);
  const options = { baseUrl: context.url, token, timeoutMs, retry: { attempts: 3 } };
  return {
    context,
    token,
    rest: createRest({ ...options, ...(isVerbose && { onCall: logCall }) }),
    client: async () => (await import("@holt/client")).createClient(options),
  };
}

/** Names no token: tokens are in headers and bodies only. */
function logCall({ method, path, status, durationMs, requestId, attempt }: RestRecord): void {
  const shown = path.replace(/([?&](?:code|token)=)[^&]+/g, "$1***");
  const repeated = attempt > 1 ? `, attempt ${attempt}` : "";
  process.stderr.write(`${method} ${shown} ${status ?? "no answer"} in ${Math.round(durationMs)} ms (request ${requestId}${repeated})\n`);
}
