/** Verifies the proof of a tried token: once for all identities that trust its issuer, and for each identity with stored keys. */
import type { Identity_StaticKeys } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Code, HoltError } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";
import type { AccessTokens } from "./access-token.ts";
import type { AudienceList } from "./audience.ts";
import { areKeysExpired } from "./claim-match.ts";
import { parseStoredJwkSet } from "./jwk-set.ts";
import type { JwksCache } from "./jwks.ts";
import { invalidToken, type ParsedJwt } from "./jwt.ts";
import { verifyWithIssuer } from "./third-party-tokens.ts";
import type { TrialBudget } from "./trial-budget.ts";
import type { TriedToken } from "./tried-token.ts";
import { verifyThirdPartyToken } from "./verify-token.ts";

export interface ProofParts {
  readonly accessTokens: AccessTokens;
  readonly grants: Grants;
  readonly jwks: JwksCache;
  /** Audiences of Holt's own tokens. */
  readonly issuable: AudienceList;
}

/** A problem is the message that token exchange would give; empty if the proof is valid, or only claims are tried. */
export interface TrialProof {
  /** Verifies with the keys of the issuer or, for a Holt token, of this server. */
  issuerProblem(): Promise<string>;
  /** Verifies with the stored keys of one identity. */
  keysProblem(keys: Identity_StaticKeys): Promise<string>;
}

export function createTrialProof(tried: TriedToken, now: Date, budget: TrialBudget, parts: ProofParts): TrialProof {
  const { token, issuer, isOurs } = tried;
  let verification: Promise<string> | undefined;
  return {
    issuerProblem() {
      if (token === undefined) return Promise.resolve("");
      verification ??= problemMessage(isOurs ? verifyOwnToken(token, parts) : verifyWithIssuer(parts.jwks, token, now));
      return verification;
    },
    async keysProblem(keys) {
      if (areKeysExpired(keys, now)) return "the keys of the identity have expired";
      if (token === undefined) return "";
      if (budget.keySets-- <= 0) {
        budget.isExhausted = true;
        return "too many identities to try; name one in a token exchange";
      }
      return problemMessage(verifyThirdPartyToken(token, { keys: parseStoredJwkSet(keys.issuerKeys), issuer, now }));
    },
  };
}

/** A Holt token: verified with our keys. Its claims are those that other identities can match. */
async function verifyOwnToken(token: ParsedJwt, { accessTokens, issuable, grants }: ProofParts): Promise<void> {
  const principal = await accessTokens.verify(token.compact, issuable);
  if (!(await grants.loadSession(principal)).exists) throw invalidToken("its identity no longer exists");
}

/** The error message that token exchange would give; empty if the token is valid. */
async function problemMessage(verification: Promise<unknown>): Promise<string> {
  try {
    await verification;
    return "";
  } catch (error) {
    if (error instanceof HoltError && (error.code === Code.UNAUTHENTICATED || error.code === Code.UNAVAILABLE))
      return error.message.replace(/^[A-Za-z ]+: /, "");
    throw error;
  }
}
