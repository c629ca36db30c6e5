/** holt logout: forgets the credential of a context. */
import type { Verb } from "../command/verb.ts";
import { selectContext } from "../contexts/contexts.ts";
import { deleteCredential } from "../contexts/credentials.ts";

export const verb: Verb = {
  path: "logout",
  summary: "Forget the credential of a context.",
  description: "The context itself stays. Access tokens that were printed before stay valid until they expire, for at most an hour.",
  async run({ contextName, output }) {
    const { name, url } = selectContext(contextName);
    if (name !== undefined) await deleteCredential(name);
    output.say(`Signed out at ${url}.`);
  },
};
