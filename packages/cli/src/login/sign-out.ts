/** Ends the session of a person on the server, and forgets the credential of a context. */
import { storedTokenOf } from "../contexts/access-token.ts";
import { deleteCredential, readCredential } from "../contexts/credentials.ts";
import type { Session } from "../contexts/session.ts";
import { readAll } from "../operations/call-list.ts";
import { oneLine } from "../output/cell.ts";

interface SignOutOptions {
  /** With the server of the context. */
  readonly session: () => Session;
  readonly signal: AbortSignal;
}

/** Forgets the credential also if the server cannot be reached. @param name of the context */
export async function signOut(name: string, options: SignOutOptions): Promise<void> {
  try {
    await endSession(name, options);
  } finally {
    await deleteCredential(name);
  }
}

/** Only warns if that fails, for example because the session has ended already. */
async function endSession(name: string, { session, signal }: SignOutOptions): Promise<void> {
  try {
    if ((await readCredential(name))?.kind !== "refresh") return;
    const { rest, context } = session();
    // HOLT_TOKEN may be of another session.
    const headers = { authorization: `Bearer ${(await storedTokenOf(context)).token}` };
    const { rows } = await readAll(rest, { method: "GET", path: "/holt/v1/sessions", headers }, "sessions", signal);
    const current = rows.find((row) => row.current === true);
    if (current !== undefined) await rest.call({ method: "POST", path: `/holt/v1/sessions/${current.uid}:end`, headers, body: {}, signal });
  } catch (error) {
    signal.throwIfAborted();
    process.stderr.write(`Warning: the session was not ended on the server: ${oneLine((error as Error).message)}\n`);
  }
}
