/** A server with a token, for the calls of a command. */
import type { HoltClient, TokenSource } from "@holt/client";
import { createRest, type Rest, type RestOptions, type RestRecord } from "@holt/client/rest";
import { oneLine } from "../output/cell.ts";
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
  /** Timeout of each response. */
  readonly timeoutMs: number;
}

export function openSession(context: NamedContext, options: SessionOptions): Session {
  const token = tokenOfContext(context);
  const server = { baseUrl: context.url, token, retry: { attempts: 3 } };
  return {
    context,
    token,
    rest: restTo(server, options),
    client: async () => (await import("@holt/client")).createClient({ ...server, timeoutMs: options.timeoutMs }),
  };
}

/** Calls of a server, also without a context. */
export function restTo(server: Pick<RestOptions, "baseUrl" | "token" | "retry">, { isVerbose, timeoutMs }: SessionOptions): Rest {
  const onCall = (record: RestRecord) => {
    if (isVerbose) logCall(record);
    if (record.warning !== undefined) warn(record.warning);
  };
  return createRest({ ...server, timeoutMs, onCall });
}

/** @param header such as `299 - "ignored unknown field nmae"` */
function warn(header: string): void {
  for (const [, text = ""] of header.matchAll(/\b299 \S+ "((?:[^"\\]|\\.)*)"/g))
    process.stderr.write(`Warning: the server ${oneLine(text.replace(/\\(.)/g, "$1"))}\n`);
}

/** Names no token: tokens are in headers and bodies only. */
function logCall({ method, path, status, durationMs, requestId, attempt }: RestRecord): void {
  const shown = path.replace(/([?&](?:code|token)=)[^&]+/g, "$1***");
  const repeated = attempt > 1 ? `, attempt ${attempt}` : "";
  process.stderr.write(`${method} ${shown} ${status ?? "no answer"} in ${Math.round(durationMs)} ms (request ${requestId}${repeated})\n`);
}
