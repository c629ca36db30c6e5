/** holt context use. */
import type { Verb } from "../command/verb.ts";
import { type Context, changeContexts, selectContext } from "../contexts/contexts.ts";

export const verb: Verb = {
  path: "context use",
  summary: "Make a context the current one.",
  arguments: [{ name: "name", help: "the name of the context" }],
  options: [{ name: "group", value: "GROUP", mayBeEmpty: true, help: 'its default group, for creating and listing; "" for none' }],
  async run({ argument, option, output }) {
    const name = argument("name");
    const { url, group: before } = selectContext(name);
    const group = option("group") ?? before;
    await changeContexts(({ contexts }) => ({
      current: name,
      contexts: { ...contexts, [name]: withGroup(contexts[name] ?? { url }, group) },
    }));
    output.say(`The current context is ${name} (${url}${group ? `, group ${group}` : ""}).`);
  },
};

function withGroup({ group: _before, ...context }: Context, group: string | undefined): Context {
  return { ...context, ...(group && { group }) };
}
