/** holt logout: ends the session of a person on the server, and forgets the credential of a context. */
import type { Verb } from "../command/verb.ts";
import { selectContext } from "../contexts/contexts.ts";
import { signOut } from "../login/sign-out.ts";

export const verb: Verb = {
  path: "logout",
  summary: "End your session on the server, and forget the credential of a context.",
  description:
    "The context itself stays. All tokens of the session are refused from then on. If the server cannot be reached, the command " +
    "warns, and forgets the credential nevertheless. Access tokens of workloads and of the bootstrap owner have no session: those " +
    "that were printed before stay valid until they expire, for at most an hour.",
  async run(invocation) {
    const { name, url } = selectContext(invocation.contextName);
    if (name !== undefined) await signOut(name, { session: invocation.session, signal: invocation.signal });
    invocation.output.say(`Signed out at ${url}.`);
  },
};
