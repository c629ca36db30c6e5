/** Sends one request, without following redirects, and reads its response. */
import type { Dispatcher } from "undici";
import type { Agent } from "./agent.ts";
import { asOutboundError } from "./error.ts";
import { DEFAULT_MAX_BYTES, type OutboundRequest, type OutboundResponse } from "./outbound-request.ts";
import { dump, forEachChunk, readBody } from "./response-body.ts";

export interface Redirect {
  readonly location: string | undefined;
  readonly status: number;
}

export async function exchange(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<OutboundResponse | Redirect> {
  const answer = await sendTo(agent, url, wanted, signal);
  const { statusCode: status, headers } = answer;
  // 304 is a valid response to a conditional request.
  if (status >= 300 && status < 400 && status !== 304) {
    answer.body.on("error", () => {}).destroy();
    return { location: typeof headers.location === "string" ? headers.location : undefined, status };
  }
  const maxBytes = wanted.maxBytes ?? DEFAULT_MAX_BYTES;
  if (wanted.onBody !== undefined && status === 200) {
    const { onBody } = wanted;
    await forEachChunk(answer.body, url, maxBytes, (chunk) => onBody(chunk, headers));
    return { status, headers, body: Buffer.alloc(0) };
  }
  if (wanted.ignoreBody !== true) return { status, headers, body: await readBody(answer.body, url, maxBytes) };
  return { status, headers, body: await dump(answer.body, maxBytes, wanted.keepBytes ?? 0) };
}

async function sendTo(agent: Agent, url: URL, wanted: OutboundRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
  const { method = "GET", headers = {}, body = null } = wanted;
  try {
    return await agent.send(url, { method, headers: withUserAgent(headers), body, signal });
  } catch (error) {
    throw asOutboundError(error, url);
  }
}

/** Adds a User-Agent header unless the caller set one. */
function withUserAgent(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const hasUserAgent = Object.keys(headers).some((name) => name.toLowerCase() === "user-agent");
  return hasUserAgent ? headers : { "User-Agent": "Holt", ...headers };
}
