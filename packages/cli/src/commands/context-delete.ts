/** holt context delete. */
import type { Verb } from "../command/verb.ts";
import { changeContexts, selectContext } from "../contexts/contexts.ts";
import { deleteCredential } from "../contexts/credentials.ts";

export const verb: Verb = {
  path: "context delete",
  summary: "Delete a context and its credential.",
  arguments: [{ name: "name", help: "the name of the context" }],
  async run({ argument, confirm, output }) {
    const name = argument("name");
    const { url } = selectContext(name);
    await confirm(`Delete the context ${name} (${url})?`);
    await deleteCredential(name);
    await changeContexts(({ current, contexts }) => {
      const { [name]: _deleted, ...others } = contexts;
      return { ...(current !== undefined && current !== name && { current }), contexts: others };
    });
    output.say(`Deleted the context ${name}.`);
  },
};
