/**
 * Finds the identities that a token might sign in as, and compares the token with each, or with one that is not saved yet.
 * tokens/token-trial.ts does the comparing.
 */
import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type TestTokenRequest,
  type TestTokenResponse,
  TestTokenResponseSchema,
  type TokenMatch,
  TokenMatchSchema,
} from "@holt/api/gen/holt/v1/access_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Identity, IdentitySchema, RelationshipType } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { capabilitySet } from "../../access/capability-set.ts";
import { assertHolds } from "../../api/call/authorize.ts";
import type { Call } from "../../api/call/call.ts";
import type { ReadDb } from "../../db/store.ts";
import { Code, HoltError, invalidArgument } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { rangeBelow } from "../../lib/uid.ts";
import type { TokenTrials, Trial, TrialVerdict } from "../tokens/token-trial.ts";
import type { TrialInput } from "../tokens/tried-token.ts";
import { assertRelationship, settleExpiration } from "./identity-relationship.ts";

const READ = capabilitySet([Capability.CAP_IAM_IDENTITY_LIST]);
const CREATE = capabilitySet([Capability.CAP_IAM_IDENTITY_CREATE]);
const UPDATE = capabilitySet([Capability.CAP_IAM_IDENTITY_UPDATE]);
const MAX_NEAR_MISSES = 50;
/** Identities that are compared, for each way to find candidates. */
const MAX_OF_A_KIND = 200;
/** The length limit of tokens. */
const MAX_CLAIMS_LENGTH = 16 * 1024;
/** Characters of issuers and subjects that the index holds. */
const INDEXED_LENGTH = 128;

export interface TestTokenCollaborators {
  readonly tokenTrials: TokenTrials;
}

export async function testToken(
  request: TestTokenRequest,
  call: Call,
  { tokenTrials }: TestTokenCollaborators,
): Promise<TestTokenResponse> {
  const { db, access, now } = call;
  // A caller who may read a user would otherwise pass with the uid of that user as the parent.
  await assertHolds({ kind: "Group", uid: request.parent }, READ, access, db);
  const tried = triedOf(request);
  if (request.identity !== undefined) await assertMayTry(request.identity, request.parent, call);
  let trial: Trial;
  try {
    trial = tokenTrials.begin(tried, now);
  } catch (error) {
    if (!(error instanceof HoltError) || error.code !== Code.UNAUTHENTICATED) throw error;
    if ("claims" in tried) throw invalidArgument("claims", "must have an issuer (iss) and a subject (sub), both strings");
    return create(TestTokenResponseSchema, { tokenError: withoutCode(error.message) });
  }
  const { identities, isComplete } =
    request.identity === undefined
      ? await candidatesBelow(request.parent, trial, db)
      : { identities: [request.identity], isComplete: true };
  const compared = await verdictsOf(trial, identities);
  const verdicts = compared.filter(({ claim }) => claim !== "iss" || request.identity !== undefined);
  const nearMisses = verdicts.filter(({ isMatch }) => !isMatch).sort(nearestFirst(trial.subject ?? ""));
  return create(TestTokenResponseSchema, {
    tokenError: await trial.tokenError(),
    matches: verdicts.filter(({ isMatch }) => isMatch).map(matchOf),
    nearMisses: nearMisses.slice(0, MAX_NEAR_MISSES).map(matchOf),
    incomplete: !isComplete || trial.isExhausted(),
  });
}

/**
 * The keys of the issuer may be requested for the identity, as if it existed.
 * @throws PERMISSION_DENIED; INVALID_ARGUMENT with the violations that Create and Update would report
 */
async function assertMayTry(identity: Identity, parent: string, { access, db, now }: Call): Promise<void> {
  if (identity.uid === "") await assertHolds({ kind: "Group", uid: parent }, CREATE, access, db);
  else await assertHolds({ kind: "Identity", uid: identity.uid }, UPDATE, access, db);
  if (identity.relationship.case === "awsIdentity") throw invalidArgument("identity", "must be an identity that accepts tokens");
  settleExpiration(identity, now);
  assertRelationship(identity, now);
}

/** @throws INVALID_ARGUMENT */
function triedOf({ token, claims }: TestTokenRequest): TrialInput {
  if ((token === "") === (claims === undefined)) throw invalidArgument("token", "exactly one of token and claims is required");
  if (claims === undefined) return { token: token.trim() };
  if (JSON.stringify(claims).length > MAX_CLAIMS_LENGTH)
    throw invalidArgument("claims", `must be at most ${MAX_CLAIMS_LENGTH} characters of JSON, as in a token`);
  return { claims };
}

function withoutCode(message: string): string {
  return message.replace(/^Unauthenticated: /, "");
}

interface Candidates {
  readonly identities: readonly Identity[];
  /** Whether `identities` has all that could match. */
  readonly isComplete: boolean;
}

/** Candidates of the token's issuer come first, so that the number of other identities does not matter. */
async function candidatesBelow(parent: string, { issuer, subject, principals }: Trial, db: ReadDb): Promise<Candidates> {
  const { lower, upper } = rangeBelow(parent);
  const below = db
    .selectFrom("identity")
    .select("body")
    .where("uid", ">=", lower)
    .where("uid", "<", upper)
    .orderBy("uid")
    .limit(MAX_OF_A_KIND + 1);
  const ofIssuer = below.where("token_issuer", "in", issuerNames(issuer).map(indexed));
  const named = subject === undefined ? undefined : indexed(subject);
  const kinds = [
    ...(named === undefined ? [] : [ofIssuer.where("token_subject", "=", named)]),
    ofIssuer.where("token_subject", "is", null),
    below.where("token_issuer", "is", null).where("relationship_type", "in", [RelationshipType.CLAIM_MATCH, RelationshipType.STATIC]),
    ...(principals.size === 0 ? [] : [below.where("relationship_type", "=", RelationshipType.SERVICE_PRINCIPAL)]),
  ];
  // These can only be near misses, so any of them will do.
  const others = named === undefined ? ofIssuer.where("token_subject", "is not", null) : ofIssuer.where("token_subject", "<>", named);

  const identities: Identity[] = [];
  let isComplete = true;
  for (const query of [...kinds, others]) {
    const rows = await query.execute();
    if (query !== others && rows.length > MAX_OF_A_KIND) isComplete = false;
    for (const { body } of rows.slice(0, MAX_OF_A_KIND)) identities.push(messageFromJson(IdentitySchema, body));
  }
  return { identities, isComplete };
}

/** Google's issuer has two names, and an identity may use either. */
function issuerNames(issuer: string): string[] {
  return issuer === "https://accounts.google.com" ? [issuer, "accounts.google.com"] : [issuer];
}

/** Cut to the indexed length, in characters as databases count them. */
function indexed(text: string): string {
  return [...text].slice(0, INDEXED_LENGTH).join("");
}

/** Yields after each comparison, so that other calls are answered in between. */
async function verdictsOf(trial: Trial, identities: readonly Identity[]): Promise<TrialVerdict[]> {
  const verdicts: TrialVerdict[] = [];
  for (const identity of identities) {
    const verdict = trial.compare(identity);
    if (verdict !== undefined) verdicts.push(verdict.isMatch ? await trial.verifyProof(verdict) : verdict);
    await setImmediate();
  }
  return verdicts;
}

/** Orders by how far the comparison came, then by how much of the subject agrees. */
function nearestFirst(subject: string): (a: TrialVerdict, b: TrialVerdict) => number {
  return (a, b) => progressOf(b) - progressOf(a) || commonLength(subjectOf(b), subject) - commonLength(subjectOf(a), subject);
}

function progressOf({ claim }: TrialVerdict): number {
  return claim === "" ? 3 : claim === "sub" ? 0 : claim === "aud" ? 1 : 2;
}

function subjectOf({ identity: { relationship } }: TrialVerdict): string {
  if (relationship.case === "claimMatch") return relationship.value.sub.value ?? "";
  return relationship.case === "staticKeys" ? relationship.value.subject : "";
}

function commonLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return length;
}

function matchOf({ identity: { uid, name }, claim, explanation }: TrialVerdict): TokenMatch {
  return create(TokenMatchSchema, { identityUid: uid, name, claim, explanation });
}
