/** Adds virtual authenticators to a page of Chromium, by its WebAuthn domain. */
import type { CDPSession, Page } from "playwright-core";

/** A passkey in an authenticator, with its private key. */
export interface VirtualPasskey {
  readonly credentialId: string;
  readonly signCount: number;
}

/** A device with a fingerprint reader that the person uses each time. */
export interface Authenticator {
  passkeys(): Promise<readonly VirtualPasskey[]>;
  /** Replaces the passkey by a copy with another counter. */
  setCounter(passkey: VirtualPasskey, signCount: number): Promise<void>;
  /** Whether the next fingerprints are right. */
  setVerified(isVerified: boolean): Promise<void>;
  /** The device is lost. */
  remove(): Promise<void>;
}

export async function addAuthenticator(page: Page): Promise<Authenticator> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return authenticatorOf(session, authenticatorId);
}

function authenticatorOf(session: CDPSession, authenticatorId: string): Authenticator {
  const credentials = async () => (await session.send("WebAuthn.getCredentials", { authenticatorId })).credentials;
  return {
    passkeys: credentials,
    async setCounter({ credentialId }, signCount) {
      const credential = (await credentials()).find((each) => each.credentialId === credentialId);
      if (credential === undefined) throw new Error("the authenticator has no such passkey");
      await session.send("WebAuthn.removeCredential", { authenticatorId, credentialId });
      await session.send("WebAuthn.addCredential", { authenticatorId, credential: { ...credential, signCount } });
    },
    async setVerified(isUserVerified) {
      await session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
    },
    async remove() {
      await session.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
    },
  };
}
