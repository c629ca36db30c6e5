/** holt can: whether the caller, or another identity, may do something. */
import { explainAccess } from "../access/explain-access.ts";
import { ownAccess } from "../access/own-access.ts";
import type { Verb } from "../command/verb.ts";
import { exitStatus } from "../failure.ts";
import { callerOf } from "../login/caller.ts";

export const verb: Verb = {
  path: "can",
  summary: "Tell whether you have a capability in a place.",
  description: "The exit status is 0 for yes and 4 for no. --identity asks for another identity.",
  examples: ["holt can repo.create my-org/team-a && echo yes"],
  arguments: [
    { name: "capability", help: "the name of a capability, such as groups.list" },
    { name: "place", kind: "place", optional: true, help: "a group or repository; by default the group of the context" },
  ],
  options: [{ name: "identity", value: "NAME|UID", kind: "identity", help: "ask for this identity" }],
  async run(invocation) {
    const { option, uid, session, output, signal } = invocation;
    const other = option("identity");
    const { allowed, summary } =
      other === undefined
        ? await ownAccess(invocation, await callerOf(session().rest, signal))
        : await explainAccess(invocation, await uid("identity", other));
    if (output.format === "table" || output.format === "wide") output.say(`${allowed ? "yes" : "no"}: ${summary}`);
    else
      await output.row({ allowed: allowed === true, summary }, { columns: ["allowed", "summary"], name: () => (allowed ? "yes" : "no") });
    if (!allowed) process.exitCode = exitStatus.denied;
  },
};
