/** holt roles capabilities: the capabilities of a role, or all. */
import { capabilities } from "../access/explain-access.ts";
import type { Verb } from "../command/verb.ts";

export const verb: Verb = {
  path: "roles capabilities",
  summary: "List the capabilities of a role, or all capabilities.",
  examples: ["holt roles capabilities viewer"],
  arguments: [{ name: "role", kind: "role", optional: true, help: "uid or name of the role; all capabilities by default" }],
  async run({ argument, uid, session, output, signal }) {
    const all = capabilities();
    let wanted = new Set(Object.values(all));
    if (argument("role") !== "") {
      const path = `/iam/v2/roles/${await uid("role", argument("role"))}`;
      const role = (await session().rest.call({ method: "GET", path, signal })) as { capabilities?: string[] };
      wanted = new Set(role.capabilities ?? []);
    }
    const names = Object.keys(all)
      .filter((name) => wanted.has(all[name] ?? ""))
      .sort();
    await output.rows(
      names.map((name) => ({ name })),
      { columns: ["name"] },
    );
  },
};
