/**
 * Verifies a delivery like a receiver that knows only the issuer and the group of its subscription: keys by discovery, every
 * claim, and the body decoded strictly as the named message. Shares no code with the server's deliveries.
 */
import { createHash } from "node:crypto";
import { createRegistry, type DescMessage, fromJson, type JsonValue, type Message } from "@bufbuild/protobuf";
import { services } from "@holt/api";
import { createRemoteJWKSet, jwtVerify } from "jose";
import type { Received } from "./webhook-receiver.ts";

export interface VerifyOptions {
  /** URL of the server, which serves its discovery document. */
  readonly issuer: string;
  /** Uid of the subscription's group. */
  readonly group: string;
  /** The time of verification, for tokens of a manual clock. */
  readonly now?: Date;
}

export interface CloudEvent {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly time: string;
  readonly group: string;
  readonly bodyType: string;
  /** Decoded attributes by their CloudEvents names. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly actor: { readonly subject: string; readonly act?: Readonly<Record<string, string>> } | undefined;
  /** The parsed JSON body. */
  readonly body: { readonly [key: string]: JsonValue };
  /** Undefined for pulls and pushes, whose events name no message. */
  readonly message: Message | undefined;
}

/** A refusal; the receiver answers its `status`. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: 400 | 401 | 403, message: string) {
    super(`${status}: ${message}`);
    this.status = status;
  }
}

/** @throws Refusal if a receiver must refuse the delivery */
export async function verifyDelivery(received: Received, options: VerifyOptions): Promise<CloudEvent> {
  const attributes = attributesOf(received);
  await verifyToken(received, options);
  return { ...namedAttributes(attributes), attributes, ...envelopeOf(received.body, attributes.bodytype ?? "") };
}

/** Either with a scheme and an authority, or without a colon in the first segment (RFC 3986 §4.2). */
const URI_REFERENCE = /^(?:https?:)?\/\/[^/?#]+|^[^:]+$/;

/** CloudEvents 1.0, HTTP protocol binding §3.1: binary mode. */
function attributesOf({ method, headers }: Received): Record<string, string> {
  if (method !== "POST") throw new Refusal(400, `the method is ${method}`);
  if (!/^application\/json(;|$)/.test(String(headers["content-type"]))) throw new Refusal(400, "the body is not said to be JSON");
  const attributes: Record<string, string> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!header.startsWith("ce-")) continue;
    const name = header.slice(3);
    if (!/^[a-z0-9]{1,20}$/.test(name)) throw new Refusal(400, `${name} is not the name of an attribute`);
    if (typeof value !== "string" || value === "") throw new Refusal(400, `${name} has no value`);
    if (/[^\x21-\x7e]/.test(value)) throw new Refusal(400, `${name} is not encoded (§3.1.3.2)`);
    attributes[name] = decodeURIComponent(value);
  }
  if (attributes.specversion !== "1.0") throw new Refusal(400, "specversion is not 1.0");
  for (const name of ["id", "type", "source"]) if (attributes[name] === undefined) throw new Refusal(400, `${name} is missing`);
  if (!URI_REFERENCE.test(attributes.source ?? "")) throw new Refusal(400, "source is not a URI-reference");
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(attributes.time ?? "")) throw new Refusal(400, "time is not RFC 3339 in UTC");
  return attributes;
}

function namedAttributes({ id = "", type = "", source = "", subject = "", time = "", group = "", bodytype = "" }: Record<string, string>) {
  return { id, type, source, subject, time, group, bodyType: bodytype };
}

const keySets = new Map<string, Promise<ReturnType<typeof createRemoteJWKSet>>>();

async function discover(issuer: string): Promise<ReturnType<typeof createRemoteJWKSet>> {
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
  const document = (await answer.json()) as { issuer: string; jwks_uri: string };
  if (document.issuer !== issuer) throw new Error(`${issuer} says that it is ${document.issuer}`);
  return createRemoteJWKSet(new URL(document.jwks_uri));
}

async function verifyToken({ headers, body }: Received, { issuer, group, now }: VerifyOptions): Promise<void> {
  const [, token] = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/.exec(headers.authorization as string) ?? [];
  if (token === undefined) throw new Refusal(401, "there is no token");
  const known = keySets.get(issuer) ?? discover(issuer);
  keySets.set(issuer, known);
  known.catch(() => keySets.delete(issuer));
  const rules = {
    issuer,
    audience: "customer",
    algorithms: ["RS256"],
    requiredClaims: ["iat", "exp", "sub"],
    ...(now && { currentDate: now }),
  };
  const { payload } = await jwtVerify(token, await known, rules).catch((error: Error & { code?: string }) => {
    // Missing keys are the fault of the issuer.
    throw /^ERR_(JWT|JWS|JOSE_ALG|JWKS_NO)/.test(error.code ?? "") ? new Refusal(403, error.message) : error;
  });
  if (payload.sub !== `webhook:${group}`) throw new Refusal(403, `the token is for ${payload.sub}`);
  const { digest } = (payload.webhook ?? {}) as { digest?: string };
  if (digest !== `sha256:${createHash("sha256").update(body).digest("hex")}`) throw new Refusal(403, "the token is for another body");
}

function envelopeOf(data: Buffer, bodyType: string): Pick<CloudEvent, "actor" | "body" | "message"> {
  const envelope = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(data)) as Pick<CloudEvent, "actor" | "body">;
  const unknown = Object.keys(envelope).filter((key) => key !== "actor" && key !== "body");
  if (unknown.length > 0) throw new Refusal(400, `the envelope has ${unknown.join(", ")}`);
  if (typeof envelope.body !== "object" || envelope.body === null) throw new Refusal(400, "the envelope has no body");
  const { actor, body } = envelope;
  for (const value of Object.values(actor?.act ?? {})) if (typeof value !== "string") throw new Refusal(400, "a claim is not text");
  return { actor, body, message: bodyType === "" ? undefined : strictlyDecoded(bodyType, body) };
}

const registry = createRegistry(...services.map(({ file }) => file));

/** Unknown fields are errors, as for a strict decoder. */
function strictlyDecoded(bodyType: string, body: JsonValue): Message {
  try {
    return fromJson(descriptorOf(bodyType), body);
  } catch (error) {
    throw new Refusal(400, `the body is no ${bodyType}: ${(error as Error).message}`);
  }
}

/** Maps the vendor's names: `chainguard.platform.iam.v2beta1.Group`, and `chainguard.platform.auth.Session` for v1. */
function descriptorOf(bodyType: string): DescMessage {
  const name = bodyType.replace(/^chainguard\./, "").replace(".v2beta1.", ".v2.");
  const found = registry.getMessage(name) ?? registry.getMessage(name.replace(/^platform\.(\w+)\.(?=[A-Z])/, "platform.$1.v1."));
  if (found === undefined) throw new Error("the contract has no such message");
  return found;
}
