/** holt whoami: the account and its rights. */
import type { Verb } from "../command/verb.ts";
import { callerOf } from "../login/caller.ts";

export const verb: Verb = {
  path: "whoami",
  summary: "Show the account that you use, and its rights.",
  async run({ session, output, signal }) {
    const { context, rest } = session();
    const { capabilities, ...caller } = await callerOf(rest, signal);
    const rights = capabilities.map(({ group, role, capabilities: names }) => `${role || `${names.length} capabilities`} in ${group}`);
    const row = {
      uid: caller.uid,
      email: caller.email,
      name: caller.name,
      server: context.url,
      context: context.name ?? "",
      rights,
      expiry: caller.expiry,
    };
    await output.row(row, { columns: ["uid", "email", "name", "server", "context", "rights", "expiry"] });
  },
};
