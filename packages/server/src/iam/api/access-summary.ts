/** An explanation of access in a sentence or two. Pure; names nothing that it is not given. */

export interface Explanation {
  /** Name of the identity. */
  readonly identity: string;
  /** String name. */
  readonly capability: string;
  readonly uid: string;
  readonly isAllowed: boolean;
  /** By the directory of the organization. */
  readonly isDeactivated: boolean;
  /** The group that it was made in, where the uid is not there; undefined otherwise. */
  readonly home: string | undefined;
  /** Bindings that give it and that the caller may see, nearest first; how many more there are, and how many that lack it. */
  readonly shown: readonly { readonly uid: string; readonly groupUid: string; readonly roleUid: string; readonly roleName: string }[];
  readonly hidden: number;
  readonly lacking: number;
  /** Roles that the caller could bind. */
  readonly helping: number;
  /** Whether a session by an identity provider could have it beside the bindings. */
  readonly mayComeByGroups: boolean;
}

export function summaryOf(explanation: Explanation): string {
  const { identity, capability, uid, isAllowed } = explanation;
  const verdict = `"${identity}" ${isAllowed ? "has" : "does not have"} ${capability} at ${uid}: `;
  return `${verdict}${isAllowed ? sourceOf(explanation) : obstacleOf(explanation)}.${groupsOf(explanation)}`;
}

function sourceOf({ shown: [nearest, ...others], hidden, uid }: Explanation): string {
  if (nearest === undefined) return "something above, where you may not read bindings, gives it";
  const place = nearest.groupUid === uid ? "there" : `above, at ${nearest.groupUid}`;
  const more = others.length === 0 ? "" : `, and ${count(others.length, "other binding gives", "other bindings give")} it, too`;
  const above = hidden === 0 ? "" : "; so does something above, where you may not read bindings";
  return `it is bound to role "${nearest.roleName}" ${place}${more}${above}`;
}

function obstacleOf({ isDeactivated, home, shown, hidden, lacking, helping }: Explanation): string {
  if (isDeactivated) return "the organization's directory has deactivated it";
  if (home !== undefined && shown.length + hidden > 0)
    return `it is bound to a role that gives it, but it was made in ${home}, and acts there and below only`;
  if (home !== undefined) return `it was made in ${home}, and acts there and below only`;
  const bound = lacking === 0 ? "no binding that you may see" : `none of the ${lacking} bindings that you may see`;
  const help = helping === 0 ? "; you can bind no role that does" : "; a role that you could bind would";
  return `${lacking === 1 ? "the one binding that you may see does not give it" : `${bound} gives it`}${help}`;
}

function groupsOf({ isAllowed, isDeactivated, mayComeByGroups }: Explanation): string {
  if (isAllowed || isDeactivated || !mayComeByGroups) return "";
  return " A sign-in through an identity provider may give it for as long as the session lasts, where groups are mapped to roles: that is stored nowhere.";
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
