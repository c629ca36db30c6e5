/**
 * Proof of an AWS identity: a signed GetCallerIdentity request that its owner did not send but handed to us. We hold it against our rules,
 * send it, and believe what AWS answers. Which identities accept the answer is aws-match.ts.
 */
import { permissionDenied, unauthenticated, unavailable } from "../../lib/errors.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import type { OutboundClient } from "../../outbound/client.ts";
import { OutboundError } from "../../outbound/error.ts";
import { type ParsedRequest, parseProof } from "./aws-proof-request.ts";
import { isRecord } from "./jwk-set.ts";
import type { WaitLimit } from "./wait-limit.ts";

export interface AwsCaller {
  readonly account: string;
  readonly arn: string;
  readonly userId: string;
}

export interface AwsProofs {
  /** All that can be said without AWS. @throws UNAUTHENTICATED where the proof proves nothing; PERMISSION_DENIED where it is for another server or identity */
  check(proof: string, identityUid: string, now: Date): ParsedRequest;
  /** @throws UNAUTHENTICATED where AWS does not vouch for the proof; UNAVAILABLE where it cannot be asked */
  ask(request: ParsedRequest): Promise<AwsCaller>;
}

export interface AwsProofsOptions {
  readonly client: OutboundClient;
  readonly waits: WaitLimit;
  /** Of this server, as the proof's audience header must name it. */
  readonly issuer: string;
  /** Where proofs are sent. */
  readonly stsUrl?: string;
  /** Names before `-Audience` and `-Identity` of the two headers that bind a proof to a server and an identity; a vendor's clients have their own. */
  readonly headerPrefixes: readonly string[];
}

export const AWS_STS_URL = "https://sts.amazonaws.com";
const MAX_AGE_MS = 15 * 60_000;
const MAX_AHEAD_MS = 5 * 60_000;

export function createAwsProofs({ client, waits, issuer, stsUrl = AWS_STS_URL, headerPrefixes }: AwsProofsOptions): AwsProofs {
  // A proof for AWS may be sent to a stand-in of the operator's choice, but to nobody else.
  const hosts = new Set([new URL(AWS_STS_URL).host, new URL(stsUrl).host]);
  return {
    check(proof, identityUid, now) {
      const request = parseProof(proof, hosts);
      assertBinding(request, headerPrefixes, issuer, identityUid);
      assertDate(request, now);
      return request;
    },
    ask: async (request) => callerOf(await waits.wait(stsUrl, () => forward(client, stsUrl, request))),
  };
}

function assertBinding({ headers, signedHeaders }: ParsedRequest, prefixes: readonly string[], issuer: string, identityUid: string): void {
  const prefix = prefixes
    .map((name) => name.toLowerCase())
    .find((name) => headers.has(`${name}-audience`) && headers.has(`${name}-identity`));
  if (prefix === undefined) throw unauthenticated("the AWS proof does not say for which server and identity it is");
  for (const name of ["host", "x-amz-date", `${prefix}-audience`, `${prefix}-identity`]) {
    if (!signedHeaders.has(name)) throw unauthenticated(`the AWS proof leaves "${name}" unsigned`);
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
  if (date - now.getTime() > MAX_AHEAD_MS) throw unauthenticated("the AWS proof is from the future");
}

/** Headers that belong to a connection, which is ours; the body is known to be empty. */
const OUR_OWN = new Set([
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
  const headers = Object.fromEntries([...request.headers].filter(([name]) => !OUR_OWN.has(name)));
  try {
    const answer = await client.request({ url: new URL(request.target, stsUrl).href, method: "POST", headers, body: "" });
    if (answer.status >= 500) throw unavailable("AWS cannot check the proof now");
    if (answer.status !== 200) throw unauthenticated("AWS rejected the proof");
    return parseStrictJson(answer.body.toString("utf8"));
  } catch (error) {
    if (error instanceof OutboundError) throw unavailable("AWS cannot be asked about the proof", { cause: error });
    if (error instanceof SyntaxError) throw unauthenticated("AWS did not answer as expected");
    throw error;
  }
}

function callerOf(answer: unknown): AwsCaller {
  const response = isRecord(answer) ? answer.GetCallerIdentityResponse : undefined;
  const result = isRecord(response) ? response.GetCallerIdentityResult : undefined;
  const { Account: account, Arn: arn, UserId: userId } = isRecord(result) ? result : {};
  if (typeof account !== "string" || typeof arn !== "string" || typeof userId !== "string")
    throw unauthenticated("AWS did not answer as expected");
  return { account, arn, userId };
}
