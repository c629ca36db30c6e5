/**
 * Verifies AWS identities. A caller signs a GetCallerIdentity request but hands it to Holt instead of sending it. Holt
 * checks that the request is bound to this server and to one identity, sends it to AWS, and trusts the answer. Which
 * identities accept the answer is in aws-match.ts.
 */
import { permissionDenied, unauthenticated, unavailable } from "../../lib/errors.ts";
import { isRecord } from "../../lib/is-record.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { type ParsedRequest, parseProof } from "./aws-proof-request.ts";
import type { WaitLimit } from "./wait-limit.ts";

export interface AwsCaller {
  readonly account: string;
  readonly arn: string;
  readonly userId: string;
}

export interface AwsProofs {
  /**
   * Makes every check that does not need AWS.
   * @throws UNAUTHENTICATED for an invalid proof; PERMISSION_DENIED for a proof made for another server or identity
   */
  check(proof: string, identityUid: string, now: Date): ParsedRequest;
  /**
   * Sends the request to AWS.
   * @throws UNAUTHENTICATED if AWS rejects the proof; UNAVAILABLE if AWS cannot be reached
   */
  fetchCaller(request: ParsedRequest): Promise<AwsCaller>;
}

export interface AwsProofsOptions {
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  /** Issuer of this server. The proof's audience header must name it. */
  readonly issuer: string;
  /** Endpoint that proofs are sent to. */
  readonly stsUrl?: string;
  /**
   * Prefixes of the headers `<prefix>-Audience` and `<prefix>-Identity`, which bind a proof to a server and an
   * identity. A vendor's clients use a prefix of their own.
   */
  readonly headerPrefixes: readonly string[];
}

export const AWS_STS_URL = "https://sts.amazonaws.com";
const MAX_AGE_MS = 15 * 60_000;
const MAX_AHEAD_MS = 5 * 60_000;

export function createAwsProofs({ client, waits, issuer, stsUrl = AWS_STS_URL, headerPrefixes }: AwsProofsOptions): AwsProofs {
  // The operator may direct proofs to another endpoint; a proof itself may name that endpoint or AWS, nothing else.
  const hosts = new Set([new URL(AWS_STS_URL).host, new URL(stsUrl).host]);
  return {
    check(proof, identityUid, now) {
      const request = parseProof(proof, hosts);
      assertBinding(request, headerPrefixes, issuer, identityUid);
      assertDate(request, now);
      return request;
    },
    fetchCaller: async (request) => parseCaller(await waits.wait(stsUrl, () => forward(client, stsUrl, request))),
  };
}

function assertBinding({ headers, signedHeaders }: ParsedRequest, prefixes: readonly string[], issuer: string, identityUid: string): void {
  const prefix = prefixes
    .map((name) => name.toLowerCase())
    .find((name) => headers.has(`${name}-audience`) && headers.has(`${name}-identity`));
  if (prefix === undefined) throw unauthenticated("the AWS proof has no headers that name its server and identity");
  for (const name of ["host", "x-amz-date", `${prefix}-audience`, `${prefix}-identity`]) {
    if (!signedHeaders.has(name)) throw unauthenticated(`the AWS proof does not sign the header "${name}"`);
  }
  const value = (name: string): string => (headers.get(`${prefix}-${name}`) ?? "").trim().replace(/\s+/g, " ");
  if (value("audience") !== issuer) throw permissionDenied("the AWS proof is for another audience");
  if (value("identity") !== identityUid) throw permissionDenied("the AWS proof is for another identity");
}

function assertDate({ headers }: ParsedRequest, now: Date): void {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(headers.get("x-amz-date") ?? "");
  const date = match === null ? Number.NaN : Date.parse(`${match[1]}-${match[2]}-${match[3]}T${match[4]}:${match[5]}:${match[6]}Z`);
  if (Number.isNaN(date)) throw unauthenticated("the AWS proof has no date");
  if (now.getTime() - date > MAX_AGE_MS) throw unauthenticated("the AWS proof has expired");
  if (date - now.getTime() > MAX_AHEAD_MS) throw unauthenticated("the AWS proof is dated in the future");
}

/** Headers about the caller's connection are not forwarded. The body is always empty. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "te",
  "trailer",
  "upgrade",
  "proxy-authorization",
  "proxy-connection",
  "expect",
]);

async function forward(client: OutboundClient, stsUrl: string, request: ParsedRequest): Promise<unknown> {
  const headers = Object.fromEntries([...request.headers].filter(([name]) => !CONNECTION_HEADERS.has(name)));
  try {
    const answer = await client.request({ url: new URL(request.target, stsUrl).href, method: "POST", headers, body: "" });
    if (answer.status >= 500) throw unavailable("AWS cannot check the proof at the moment");
    if (answer.status !== 200) throw unauthenticated("AWS rejected the proof");
    return parseStrictJson(answer.body.toString("utf8"));
  } catch (error) {
    if (error instanceof OutboundError) throw unavailable("AWS cannot be reached to check the proof", { cause: error });
    if (error instanceof SyntaxError) throw unauthenticated("unexpected response from AWS");
    throw error;
  }
}

function parseCaller(answer: unknown): AwsCaller {
  const response = isRecord(answer) ? answer.GetCallerIdentityResponse : undefined;
  const result = isRecord(response) ? response.GetCallerIdentityResult : undefined;
  const { Account: account, Arn: arn, UserId: userId } = isRecord(result) ? result : {};
  if (typeof account !== "string" || typeof arn !== "string" || typeof userId !== "string")
    throw unauthenticated("unexpected response from AWS");
  return { account, arn, userId };
}
