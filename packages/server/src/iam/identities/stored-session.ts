/**
 * Serializes the session of a caller for work that runs later on the caller's behalf. The rights are checked again when
 * the work runs.
 */
import type { Session } from "../grants/grants.ts";

interface StoredSession extends Omit<Session, "capabilities"> {
  /** Hexadecimal, since JSON numbers are too small. */
  readonly capabilities?: string;
}

export function serializeSession({ uid, scopes, capabilities, within, session, registered }: Session): string {
  const stored: StoredSession = {
    uid,
    scopes,
    within,
    session,
    registered,
    ...(capabilities !== undefined && { capabilities: capabilities.toString(16) }),
  };
  return JSON.stringify(stored);
}

export function parseSession(text: string): Session {
  const { uid, scopes, capabilities, within, session, registered } = JSON.parse(text) as StoredSession;
  const limit = capabilities === undefined ? undefined : BigInt(`0x${capabilities}`);
  return { uid, scopes, within, session, registered, capabilities: limit };
}

/** The session without its identity-provider part, whose rights end with the token. */
export function withoutProviderSession({ uid, scopes, capabilities, within, registered }: Session): Session {
  return { uid, scopes, capabilities, within, registered, session: undefined };
}
