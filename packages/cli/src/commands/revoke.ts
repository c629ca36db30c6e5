/** holt revoke: deletes the bindings of an identity to a role in a group. */
import { findBindings } from "../access/role-bindings.ts";
import type { Verb } from "../command/verb.ts";
import { exitStatus, Failure } from "../failure.ts";

export const verb: Verb = {
  path: "revoke",
  summary: "Take a role in a group from an identity.",
  description: "The identity may still have the role by a binding in a group above; holt explain shows it.",
  examples: ["holt revoke build viewer my-org/team-a --yes"],
  arguments: [
    { name: "identity", kind: "identity", help: "uid or name of the identity" },
    { name: "role", kind: "role", help: "uid or name of the role" },
    { name: "group", kind: "group", optional: true, help: "the group; by default that of the context" },
  ],
  async run({ argument, uid, groupUid, session, output, confirm, signal }) {
    const [identity, role, group] = await Promise.all([
      uid("identity", argument("identity")),
      uid("role", argument("role")),
      groupUid(argument("group") || undefined),
    ]);
    const { rest } = session();
    const bindings = await findBindings(rest, { group, identity, role }, signal);
    if (bindings.length === 0) {
      const advice = "see why it has access with: holt explain IDENTITY CAPABILITY GROUP";
      throw new Failure("the identity has no binding to this role in this group", { status: exitStatus.notFound, advice });
    }
    await confirm(`Take the role ${argument("role")} in ${argument("group") || group} from ${argument("identity")}?`);
    for (const binding of bindings) await rest.call({ method: "DELETE", path: `/iam/v2/roleBindings/${binding.uid}`, signal });
    output.say(`Revoked ${argument("role")} from ${argument("identity")}.`);
  },
};
