/** Sends a request, follows its redirects as far as the request allows, and checks the URL of every hop. */
import type { Agent } from "./agent.ts";
import { OutboundError } from "./error.ts";
import { exchange } from "./exchange.ts";
import type { OutboundRequest, OutboundResponse } from "./outbound-request.ts";

const MAX_URL_LENGTH = 2048;

export interface FollowOptions {
  readonly wanted: OutboundRequest;
  readonly allowsHttp: boolean;
  readonly signal: AbortSignal;
}

export async function sendAndFollow(agent: Agent, { wanted, allowsHttp, signal }: FollowOptions): Promise<OutboundResponse> {
  let url = parseOutboundUrl(wanted.url, allowsHttp);
  let request = wanted;
  const isGet = (wanted.method ?? "GET") === "GET";
  for (let left = isGet ? (wanted.maxRedirects ?? 0) : 0; ; left--) {
    const answer = await exchange(agent, url, request, signal);
    if (!("location" in answer)) return answer;
    const { location, status } = answer;
    if (left === 0) throw new OutboundError("redirect", `${url.host} answered with a redirect`, { status });
    const next = parseOutboundUrl(targetOf(location, url, status), allowsHttp);
    // Anyone on the way could read and change what follows.
    if (url.protocol === "https:" && next.protocol !== "https:")
      throw new OutboundError("scheme", `${url.host} redirects to ${next.host} without https`, { status });
    if (next.origin !== url.origin) request = { ...request, headers: withoutCredentials(request.headers) };
    url = next;
  }
}

/** Statuses that name another address for the same GET request. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** @throws OutboundError for a redirect that cannot be followed */
function targetOf(location: string | undefined, from: URL, status: number): string {
  if (location === undefined || !REDIRECTS.has(status) || location.length > MAX_URL_LENGTH || !URL.canParse(location, from.href))
    throw new OutboundError("redirect", `${from.host} answered with a redirect that cannot be followed`, { status });
  return new URL(location, from).href;
}

/** Headers that only the origin that they were meant for may see. */
const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);

function withoutCredentials(headers: OutboundRequest["headers"] = {}): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIALS.has(name.toLowerCase())));
}

/** `new URL` normalizes every spelling of an IPv4 address (octal, hexadecimal, one number, full-width digits). */
function parseOutboundUrl(text: string, allowsHttp: boolean): URL {
  if (text.length > MAX_URL_LENGTH || !URL.canParse(text)) throw new OutboundError("url", "not a URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw new OutboundError("url", "a URL with credentials is not accepted");
  if (url.protocol !== "https:" && !(url.protocol === "http:" && allowsHttp))
    throw new OutboundError("scheme", `${url.host} must be reached by https`);
  return url;
}
