/**
 * Serializes the session of a caller for work that runs later on the caller's behalf. The rights are checked again when
 * the work runs.
 */
import type { Session } from "../grants/grants.ts";

interface StoredSession extends Omit<Session, "capabilities"> {
  /** Hexadecimal, since JSON numbers are too small. */
  readonly capabilities?: string;
}

export function serializeSession({ uid, scopes, capabilities, within, session }: Session): string {
  const stored: StoredSession = {
    uid,
    scopes,
    within,
    session,
    ...(capabilities !== undefined && { capabilities: capabilities.toString(16) }),
  };
  return JSON.stringify(stored);
}

export function parseSession(text: string): Session {
  const { uid, scopes, capabilities, within, session } = JSON.parse(text) as StoredSession;
  return { uid, scopes, within, session, capabilities: capabilities === undefined ? undefined : BigInt(`0x${capabilities}`) };
}

/** The session without its identity-provider part, whose rights end with the token. */
export function withoutProviderSession({ uid, scopes, capabilities, within }: Session): Session {
  return { uid, scopes, capabilities, within, session: undefined };
}
