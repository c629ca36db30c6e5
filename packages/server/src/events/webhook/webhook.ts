/** One attempt to hand one event to one sink: a signed CloudEvent in binary mode, by POST. */

import type { Clock } from "../../lib/clock.ts";
import { Lru } from "../../lib/lru.ts";
import { parseRetryAfter } from "../../lib/retry-after.ts";
import { sha256Hex } from "../../lib/sha256.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { failureOf } from "../delivery/failure.ts";
import type { Result } from "../delivery/retry.ts";
import { type EventRow, headersOf } from "./cloud-event.ts";
import { encodeExchange, MAX_RECORDED_BYTES } from "./exchange.ts";

/** Signs claims as a JWT with this server's key. */
export type SignToken = (claims: Readonly<Record<string, unknown>>) => Promise<string>;

export interface WebhookOptions {
  readonly client: OutboundClient;
  readonly sign: SignToken;
  readonly clock: Clock;
  readonly profile: VendorProfile;
  readonly issuer: string;
  /** For everything from the first look-up to the end of the answer. */
  readonly timeoutMs: number;
}

export interface Target {
  readonly sink: string;
  /** Uid of the subscription's group. */
  readonly parent: string;
}

/** An event that can be sent at any moment: its token is signed. */
export interface Signed {
  readonly target: Target;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Webhook {
  sign(event: EventRow, target: Target): Promise<Signed>;
  /** Undefined if the signal aborted it: its outcome is unknown. Never rejects. */
  send(signed: Signed, signal: AbortSignal): Promise<Result | undefined>;
}

/** Bytes of an answer that are read. Beyond them the connection is closed. */
export const MAX_ANSWER_BYTES = 64 * 1024;

export function createWebhook({ client, sign, clock, profile, issuer, timeoutMs }: WebhookOptions): Webhook {
  const tokens = createTokens(sign, issuer, clock);
  return {
    async sign(event, target) {
      const body = Buffer.from(event.data);
      const token = await tokens(target.parent, body);
      return { target, body, headers: { ...headersOf(event), Authorization: `Bearer ${token}`, "User-Agent": profile.userAgent } };
    },
    async send({ target, body, headers }, signal) {
      try {
        const answer = await client.request({
          url: target.sink,
          method: "POST",
          headers,
          body,
          signal,
          timeoutMs,
          maxBytes: MAX_ANSWER_BYTES,
          ignoreBody: true,
          keepBytes: MAX_RECORDED_BYTES + 1,
        });
        const error = answer.status >= 200 && answer.status < 300 ? "" : `the sink answered with status ${answer.status}`;
        const retryAfterMs = parseRetryAfter(answer.headers["retry-after"], clock.now());
        const token = (headers.Authorization ?? "").replace(/^Bearer /, "");
        return { status: answer.status, error, retryAfterMs, exchange: encodeExchange({ url: target.sink, ...answer, token }) };
      } catch (error) {
        if (error instanceof OutboundError && error.reason === "aborted") return undefined;
        return failureOf(error);
      }
    },
  };
}

const TOKEN_LIFE_S = 3600;
/** How long a token is used again: many subscriptions of a group get the same event, and a signature is the dearest part of a delivery. */
const TOKEN_REUSE_MS = 60_000;
const MAX_TOKENS = 1000;

interface Token {
  readonly text: Promise<string>;
  readonly time: number;
}

function createTokens(sign: SignToken, issuer: string, clock: Clock): (group: string, body: Buffer) => Promise<string> {
  const known = new Lru<string, Token>(MAX_TOKENS);
  return (group, body) => {
    const digest = `sha256:${sha256Hex(body)}`;
    const key = `${digest} ${group}`;
    const time = clock.now().getTime();
    const token = known.get(key);
    if (token !== undefined && Math.abs(time - token.time) < TOKEN_REUSE_MS) return token.text;
    const iat = Math.floor(time / 1000);
    const text = sign({ iss: issuer, aud: "customer", sub: `webhook:${group}`, webhook: { digest }, iat, exp: iat + TOKEN_LIFE_S });
    known.set(key, { text, time });
    text.catch(() => known.delete(key));
    return text;
  };
}
