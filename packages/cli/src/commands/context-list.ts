/** holt context list. */
import type { Verb } from "../command/verb.ts";
import { readContexts } from "../contexts/contexts.ts";
import { hasCredential } from "../contexts/credentials.ts";

export const verb: Verb = {
  path: "context list",
  summary: "List the servers and accounts that are set up.",
  async run({ output }) {
    const { current, contexts } = readContexts();
    const rows = Object.entries(contexts).map(([name, { url, group }]) => ({
      name,
      current: name === current,
      url,
      group: group ?? "",
      signedIn: hasCredential(name),
    }));
    await output.rows(rows, { columns: ["name", "current", "url", "group", "signedIn"] });
  },
};
