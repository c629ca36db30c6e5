/** Creates and revokes pull tokens: user names and passwords for clients of the registry and of libraries. */
import type { Rest } from "@holt/client/rest";

export interface PullToken {
  readonly uid: string;
  readonly name: string;
  readonly userName: string;
  readonly password: string;
  readonly expireTime: string;
}

export interface NewPullToken {
  readonly name: string;
  /** Names of the contract, such as RIGHT_IMAGES_PULL. */
  readonly rights: readonly string[];
  readonly repositories?: readonly string[];
  readonly ttl?: string;
}

export async function createPullToken(rest: Rest, group: string, token: NewPullToken, signal: AbortSignal): Promise<PullToken> {
  return (await rest.call({ method: "POST", path: `/holt/v1/pullTokens/${group}`, body: token, signal })) as PullToken;
}

/** A token that is gone already is not a failure. */
export async function revokePullToken(rest: Rest, uid: string, signal: AbortSignal): Promise<void> {
  try {
    await rest.call({ method: "DELETE", path: `/holt/v1/pullTokens/${uid}`, signal });
  } catch (error) {
    if ((error as { code?: string }).code !== "NOT_FOUND") throw error;
  }
}

/** The path of names of a group, as registries and libraries name it, such as `my-org/team-a`. */
export async function pathOfGroup(rest: Rest, group: string, signal: AbortSignal): Promise<string> {
  const { namesOfGroups } = await import("../names/resolve.ts");
  const uids = group.split("/").map((_, index, segments) => segments.slice(0, index + 1).join("/"));
  const names = await namesOfGroups(rest, new Set(uids), signal);
  return uids.map((uid) => names.get(uid) ?? uid.split("/").at(-1)).join("/");
}
