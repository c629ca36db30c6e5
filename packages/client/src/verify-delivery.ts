/** Verifies deliveries of events to webhooks (docs/events.md). */
import { createRemoteJWKSet, errors, jwtVerify } from "jose";

export interface DeliveryVerifierOptions {
  /** URL of the server that sends the deliveries. */
  readonly issuer: string;
  /** Uid of the subscription's group. */
  readonly group: string;
  readonly now?: () => Date;
}

/** One received request. Header names are in lower case. */
export interface Delivery {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The bytes as received. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A delivery that is not from the server, not for this receiver, or changed on its way. */
export class DeliveryRefused extends Error {
  override readonly name = "DeliveryRefused";
  /** The HTTP status to answer. */
  readonly status: 401 | 403;
  constructor(status: 401 | 403, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Makes a verifier, which reads the server's keys once and again when the server rotates them.
 * @returns a function that rejects with DeliveryRefused, or with another error if the keys cannot be read
 */
export function createDeliveryVerifier({ issuer, group, now }: DeliveryVerifierOptions): (delivery: Delivery) => Promise<void> {
  let keys: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined;
  const keysOfIssuer = () => {
    keys ??= discover(issuer).catch((error) => {
      keys = undefined;
      throw error;
    });
    return keys;
  };
  return async ({ headers, body }) => {
    const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/.exec(String(headers.authorization ?? "")) ?? [];
    if (token === undefined) throw new DeliveryRefused(401, "the delivery has no token");
    const rules = { issuer, audience: "customer", algorithms: ["RS256"], requiredClaims: ["iat", "exp", "sub"] };
    const { payload } = await jwtVerify(token, await keysOfIssuer(), { ...rules, ...(now && { currentDate: now() }) }).catch(refuseToken);
    if (payload.sub !== `webhook:${group}`) throw new DeliveryRefused(403, `the token is for ${payload.sub}`);
    const { digest } = (payload.webhook ?? {}) as { digest?: string };
    if (digest !== (await digestOf(body))) throw new DeliveryRefused(403, "the token is for another body");
  };
}

/** Errors of jose about the keys, not about the token. The generic one is an answer that is not a key set. */
const KEY_ERRORS: ReadonlySet<string> = new Set([errors.JOSEError.code, errors.JWKSTimeout.code, errors.JWKSInvalid.code]);

function refuseToken(error: unknown): never {
  throw error instanceof errors.JOSEError && !KEY_ERRORS.has(error.code) ? new DeliveryRefused(403, error.message) : error;
}

/** As long as jose waits for the keys. */
const DISCOVERY_TIMEOUT_MS = 5_000;

async function discover(issuer: string): Promise<ReturnType<typeof createRemoteJWKSet>> {
  const signal = AbortSignal.timeout(DISCOVERY_TIMEOUT_MS);
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`, { signal });
  if (!answer.ok) throw new Error(`${issuer} answered ${answer.status} to the request for its discovery document`);
  const document = (await answer.json()) as { issuer: string; jwks_uri: string };
  if (document.issuer !== issuer) throw new Error(`${issuer} says that it is ${document.issuer}`);
  return createRemoteJWKSet(new URL(document.jwks_uri));
}

async function digestOf(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
