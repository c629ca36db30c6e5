/** holt context delete. */
import type { Verb } from "../command/verb.ts";
import { changeContexts, selectContext } from "../contexts/contexts.ts";
import { signOut } from "../login/sign-out.ts";

export const verb: Verb = {
  path: "context delete",
  summary: "Delete a context and its credential, and end its session on the server.",
  arguments: [{ name: "name", help: "the name of the context" }],
  async run({ argument, confirm, output, session, signal }) {
    const name = argument("name");
    const context = selectContext(name);
    await confirm(`Delete the context ${name} (${context.url})?`);
    await signOut(name, { session: () => session(context), signal });
    await changeContexts(({ current, contexts }) => {
      const { [name]: _deleted, ...others } = contexts;
      return { ...(current !== undefined && current !== name && { current }), contexts: others };
    });
    output.say(`Deleted the context ${name}.`);
  },
};
