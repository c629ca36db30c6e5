/** holt grant: binds an identity to a role in a group. */
import { findBindings } from "../access/role-bindings.ts";
import type { Verb } from "../command/verb.ts";
import type { Row } from "../output/output.ts";

export const verb: Verb = {
  path: "grant",
  summary: "Give an identity a role in a group and below it.",
  description: "Repeating the command changes nothing: an existing binding is returned.",
  examples: ["holt grant build viewer my-org/team-a"],
  arguments: [
    { name: "identity", kind: "identity", help: "uid or name of the identity" },
    { name: "role", kind: "role", help: "uid or name of the role" },
    { name: "group", kind: "group", optional: true, help: "the group; by default that of the context" },
  ],
  async run({ argument, uid, groupUid, session, output, signal }) {
    const [identityUid, roleUid, group] = await Promise.all([
      uid("identity", argument("identity")),
      uid("role", argument("role")),
      groupUid(argument("group") || undefined),
    ]);
    const { rest } = session();
    const [existing] = await findBindings(rest, { group, identity: identityUid, role: roleUid }, signal);
    const body = { identityUid, roleUid };
    const binding = existing ?? ((await rest.call({ method: "POST", path: `/iam/v2/roleBindings/${group}`, body, signal })) as Row);
    await output.row(binding, { columns: ["uid", "identity.name", "identityUid", "role.name", "group.name", "createTime"] });
  },
};
