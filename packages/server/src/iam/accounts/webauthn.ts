/** Builds the options that browsers make and use passkeys by, and verifies what they answer (WebAuthn Level 3). */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from "@simplewebauthn/server";
import { isRecord } from "../../lib/is-record.ts";
import { parseStrictJson } from "../../lib/strict-json.ts";
import type { PasskeyTable } from "../tables.ts";
import type { NewPasskey } from "./passkeys.ts";

export interface PasskeyOwner {
  readonly userHandle: string;
  /** Name of the passkey in the browser's list. */
  readonly label: string;
}

/** A use of a passkey, as the browser describes it. Unverified. */
export interface PresentedPasskey {
  readonly credentialId: string;
  readonly userHandle: string;
  readonly response: AuthenticationResponseJSON;
}

export interface Webauthn {
  /** False if browsers offer no passkeys at this server's address: it has to be https, or localhost, and not an IP address. */
  readonly isPossible: boolean;
  /** @param existing passkeys of the account; their authenticators do not make another one */
  creationOptions(owner: PasskeyOwner, challenge: string, existing: readonly PasskeyTable[]): object;
  /** For discoverable passkeys: the browser lists the accounts. */
  requestOptions(challenge: string): object;
  /** @returns undefined unless the answer is a passkey for this server, made for the challenge and with user verification */
  verifyCreation(answer: string, challenge: string, name: string): Promise<NewPasskey | undefined>;
  /** @returns undefined unless the text has the form of an answer */
  parseUse(answer: string): PresentedPasskey | undefined;
  /** @returns the counter of the authenticator; undefined unless the answer is for the challenge and has user verification */
  verifyUse(presented: PresentedPasskey, challenge: string, passkey: PasskeyTable): Promise<number | undefined>;
}

/** EdDSA, ES256 and RS256. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 5 * 60_000;
const MAX_ANSWER_LENGTH = 32 * 1024;
const MAX_TRANSPORTS = 8;

export function createWebauthn(baseUrl: string): Webauthn {
  const { hostname, protocol } = new URL(baseUrl);
  const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
  const isAddress = /^[\d.]+$|^\[/.test(hostname);
  const expected = { expectedOrigin: baseUrl, expectedRPID: hostname, requireUserVerification: true };

  return {
    isPossible: !isAddress && (protocol === "https:" || isLocal),
    creationOptions: (owner, challenge, existing) => creationOptions(hostname, owner, { challenge, existing }),
    requestOptions: (challenge) => ({ rpId: hostname, challenge, timeout: TIMEOUT_MS, userVerification: "required", allowCredentials: [] }),

    async verifyCreation(answer, expectedChallenge, name) {
      const response = parseAnswer(answer) as RegistrationResponseJSON | undefined;
      if (response === undefined) return undefined;
      const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
      const options = { ...expected, response, expectedChallenge, supportedAlgorithmIDs: ALGORITHMS };
      const { registrationInfo } = await attempt(() => verifyRegistrationResponse(options));
      if (registrationInfo === undefined) return undefined;
      const { id: credentialId, publicKey, counter: signCount } = registrationInfo.credential;
      const transports = transportsOf(response.response.transports);
      return { credentialId, publicKey: Buffer.from(publicKey).toString("base64url"), signCount, transports, name };
    },

    parseUse(answer) {
      const response = parseAnswer(answer) as AuthenticationResponseJSON | undefined;
      const { id: credentialId, response: { userHandle } = {} } = response ?? ({} as Partial<AuthenticationResponseJSON>);
      if (response === undefined || typeof credentialId !== "string" || typeof userHandle !== "string") return undefined;
      return { credentialId, userHandle, response };
    },

    async verifyUse({ response }, expectedChallenge, passkey) {
      const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
      // With the stored counter, the library would reject before it verifies the signature. Then anyone could forge a clone.
      const credential = { id: passkey.credential_id, publicKey: Buffer.from(passkey.public_key, "base64url"), counter: 0 };
      const { verified, authenticationInfo } = await attempt(() =>
        verifyAuthenticationResponse({ ...expected, response, expectedChallenge, credential }),
      );
      return verified === true ? authenticationInfo?.newCounter : undefined;
    },
  };
}

interface Creation {
  readonly challenge: string;
  readonly existing: readonly PasskeyTable[];
}

function creationOptions(hostname: string, { userHandle, label }: PasskeyOwner, { challenge, existing }: Creation): object {
  return {
    rp: { id: hostname, name: "Holt" },
    user: { id: userHandle, name: label, displayName: label },
    challenge,
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
    timeout: TIMEOUT_MS,
    attestation: "none",
    excludeCredentials: existing.map(({ credential_id: id, transports }) => ({
      type: "public-key",
      id,
      transports: JSON.parse(transports),
    })),
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification: "required" },
  };
}

/** The library throws for every answer that is not right. */
async function attempt<T extends object>(verify: () => Promise<T>): Promise<Partial<T>> {
  try {
    return await verify();
  } catch {
    return {};
  }
}

function parseAnswer(answer: string): object | undefined {
  if (answer === "" || answer.length > MAX_ANSWER_LENGTH) return undefined;
  try {
    const value = parseStrictJson(answer);
    return isRecord(value) && isRecord(value.response) ? value : undefined;
  } catch {
    return undefined;
  }
}

function transportsOf(transports: unknown): string[] {
  if (!Array.isArray(transports)) return [];
  return transports.filter((each): each is string => typeof each === "string" && /^[a-z-]{1,20}$/.test(each)).slice(0, MAX_TRANSPORTS);
}
