/** Explains access in a sentence or two. Pure; names only what the explanation holds. */

export interface Explanation {
  /** Name of the identity. */
  readonly identity: string;
  /** Its string name, such as `groups.list`. */
  readonly capability: string;
  readonly uid: string;
  readonly isAllowed: boolean;
  /** The directory of the organization deactivated the identity. */
  readonly isDeactivated: boolean;
  /** The group that the identity was created in, if the uid is not in that group; undefined otherwise. */
  readonly home: string | undefined;
  /** Visible bindings that give the capability, nearest first. */
  readonly shown: readonly { readonly uid: string; readonly groupUid: string; readonly roleUid: string; readonly roleName: string }[];
  /** Number of bindings that give the capability and are not visible to the caller. */
  readonly hidden: number;
  /** Number of visible bindings that do not give the capability. */
  readonly lacking: number;
  /** Number of roles with the capability that the caller could bind. */
  readonly helping: number;
  /** Whether a session through an identity provider could have the capability without a binding. */
  readonly mayComeByGroups: boolean;
}

export function summaryOf(explanation: Explanation): string {
  const { identity, capability, uid, isAllowed } = explanation;
  const verdict = `"${identity}" ${isAllowed ? "has" : "does not have"} ${capability} at ${uid}: `;
  return `${verdict}${isAllowed ? sourceOf(explanation) : obstacleOf(explanation)}.${groupsOf(explanation)}`;
}

function sourceOf({ shown: [nearest, ...others], hidden, uid }: Explanation): string {
  if (nearest === undefined) return "a group above, where you may not read bindings, gives it";
  const where = nearest.groupUid === uid ? "there" : `above, at ${nearest.groupUid}`;
  const more = others.length === 0 ? "" : `, and ${count(others.length, "other binding gives", "other bindings give")} it too`;
  const above = hidden === 0 ? "" : "; so does a group above, where you may not read bindings";
  return `it is bound to role "${nearest.roleName}" ${where}${more}${above}`;
}

function obstacleOf({ isDeactivated, home, shown, hidden, lacking, helping }: Explanation): string {
  if (isDeactivated) return "the organization's directory has deactivated it";
  if (home !== undefined && shown.length + hidden > 0)
    return `it is bound to a role that gives it, but it was created in ${home} and acts only there and below`;
  if (home !== undefined) return `it was created in ${home} and acts only there and below`;
  const bound = lacking === 0 ? "no binding that you may see" : `none of the ${lacking} bindings that you may see`;
  const help = helping === 0 ? "; you can bind no role that does" : "; a role that you could bind would";
  return `${lacking === 1 ? "the one binding that you may see does not give it" : `${bound} gives it`}${help}`;
}

function groupsOf({ isAllowed, isDeactivated, mayComeByGroups }: Explanation): string {
  if (isAllowed || isDeactivated || !mayComeByGroups) return "";
  return " A sign-in through an identity provider may give it for the length of the session, if groups are mapped to roles; that is not stored.";
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
