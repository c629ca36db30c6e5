/**
 * Programs on the same machine that a person has let sign in. Any page can send the browser to `/oauth` with the address
 * of any local listener, so the person is asked once for each.
 */
import { hashSecret } from "./pending.ts";
import type { Goal } from "./request.ts";

type Program = Extract<Goal, { kind: "program" }>;

/** Characters of a key: 128 bits. */
const KEY_LENGTH = 32;
/** Programs that a browser remembers. It forgets the one that was confirmed first. */
const MAX_KNOWN = 32;

/** The same for every sign-in of the person with this client ID to this host and port. */
export function programKey({ client, returnUrl }: Program, identityUid: string): string {
  return hashSecret(`${identityUid}\n${new URL(returnUrl).host}\n${client}`).slice(0, KEY_LENGTH);
}

export function addProgram(known: readonly string[], key: string): readonly string[] {
  return [key, ...known.filter((each) => each !== key)].slice(0, MAX_KNOWN);
}
