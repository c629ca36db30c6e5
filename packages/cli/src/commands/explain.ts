/** holt explain: which bindings give an identity a capability, or what is missing. */
import { explainAccess } from "../access/explain-access.ts";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";

interface Roles {
  readonly roles?: readonly { readonly uid: string; readonly name: string }[];
}

interface Grant {
  readonly roleName: string;
  readonly groupUid: string;
  readonly inherited?: boolean;
}

export const verb: Verb = {
  path: "explain",
  summary: "Explain why an identity has a capability in a group or repository, or what is missing.",
  examples: ["holt explain build groups.list my-org/team-a"],
  arguments: [
    { name: "identity", kind: "identity", help: "uid or name of the identity" },
    { name: "capability", help: "the name of a capability, such as groups.list" },
    { name: "place", kind: "place", optional: true, help: "a group or repository; by default the group of the context" },
  ],
  async run(invocation) {
    const identity = await invocation.uid("identity", invocation.argument("identity"));
    const answer = await explainAccess(invocation, identity);
    const shown = (grants: unknown) =>
      (grants as Grant[]).map(({ roleName, groupUid, inherited }) => `${roleName} in ${groupUid}${inherited ? " (inherited)" : ""}`);
    const names = await namesOfRoles(invocation);
    const roles = (uids: unknown) => (uids as string[]).map((uid) => names.get(uid) ?? uid);
    await invocation.output.row(answer, {
      columns: [
        "allowed",
        "summary",
        { title: "GRANTS", value: ({ grants }) => shown(grants ?? []) },
        { title: "LACKING", value: ({ lacking }) => shown(lacking ?? []) },
        { title: "ROLES WITH CAPABILITY", value: ({ rolesWithCapability }) => roles(rolesWithCapability ?? []) },
        "confinedTo",
      ],
    });
  },
};

/** By uid, for people only: programs read uids. A role that is not on the first page is shown by its uid. */
async function namesOfRoles({ session, output, signal }: Invocation): Promise<ReadonlyMap<string, string>> {
  if (output.format !== "table" && output.format !== "wide") return new Map();
  const query = { page_size: "200" };
  const { roles = [] } = (await session().rest.call({ method: "GET", path: "/iam/v2/roles", query, signal })) as Roles;
  return new Map(roles.map(({ uid, name }) => [uid, name]));
}
