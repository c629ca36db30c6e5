/** holt logout: ends the session of a person on the server, and forgets the credential of a context. */
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { storedTokenOf } from "../contexts/access-token.ts";
import { selectContext } from "../contexts/contexts.ts";
import { deleteCredential, readCredential } from "../contexts/credentials.ts";
import { readAll } from "../operations/call-list.ts";
import { oneLine } from "../output/cell.ts";

export const verb: Verb = {
  path: "logout",
  summary: "End your session on the server, and forget the credential of a context.",
  description:
    "The context itself stays. All tokens of the session are refused from then on. If the server cannot be reached, the command " +
    "warns, and forgets the credential nevertheless. Access tokens of workloads and of the bootstrap owner have no session: those " +
    "that were printed before stay valid until they expire, for at most an hour.",
  async run(invocation) {
    const { name, url } = selectContext(invocation.contextName);
    if (name !== undefined) {
      try {
        await endSession(name, invocation);
      } finally {
        await deleteCredential(name);
      }
    }
    invocation.output.say(`Signed out at ${url}.`);
  },
};

/** Only warns if that fails, for example because the session has ended already. */
async function endSession(name: string, { session, signal }: Invocation): Promise<void> {
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
