/** The session of somebody on whose behalf something is done later, as text that a row can hold. What it may do is asked anew whenever it is done. */
import type { Session } from "../grants/grants.ts";

interface Stored extends Omit<Session, "capabilities"> {
  /** Hexadecimal: JSON has no numbers that large. */
  readonly capabilities?: string;
}

export function textOfSession({ uid, scopes, capabilities, within, session }: Session): string {
  const stored: Stored = { uid, scopes, within, session, ...(capabilities !== undefined && { capabilities: capabilities.toString(16) }) };
  return JSON.stringify(stored);
}

export function sessionFromText(text: string): Session {
  const { uid, scopes, capabilities, within, session } = JSON.parse(text) as Stored;
  return { uid, scopes, within, session, capabilities: capabilities === undefined ? undefined : BigInt(`0x${capabilities}`) };
}

/** The same without what a sign-in gave beside the identity's own rights: that ends with its token. */
export function lastingSession({ uid, scopes, capabilities, within }: Session): Session {
  return { uid, scopes, capabilities, within, session: undefined };
}
