/** Asks the server who the caller is. */
import type { Rest } from "@holt/client/rest";

/** Rights of the caller in a group and below it. */
export interface CallerRights {
  /** The name if the caller may see it. */
  readonly group: string;
  readonly groupUid: string;
  /** Empty if no role has exactly these capabilities. */
  readonly role: string;
  readonly capabilities: readonly string[];
}

export interface Caller {
  readonly uid: string;
  readonly email: string;
  readonly name: string;
  readonly issuer: string;
  readonly expiry: string;
  readonly capabilities: readonly CallerRights[];
}

interface WhoAmI {
  readonly issuer?: string;
  readonly subject?: string;
  readonly email?: string;
  readonly expiry?: string;
  readonly profile?: { readonly name?: string };
  readonly capabilities?: readonly {
    readonly group?: { readonly id?: string; readonly name?: string };
    readonly role?: { readonly name?: string; readonly capabilities?: readonly string[] };
    readonly capabilities?: readonly string[];
  }[];
}

export async function callerOf(rest: Rest, signal: AbortSignal): Promise<Caller> {
  const answer = (await rest.call({ method: "GET", path: "/auth/v1/ok", signal })) as WhoAmI;
  return {
    uid: answer.subject ?? "",
    email: answer.email ?? "",
    name: answer.profile?.name ?? "",
    issuer: answer.issuer ?? "",
    expiry: answer.expiry ?? "",
    capabilities: (answer.capabilities ?? []).map(({ group, role, capabilities = [] }) => ({
      group: group?.name || group?.id || "/",
      groupUid: group?.id ?? "",
      role: role?.name ?? "",
      capabilities: [...capabilities, ...(role?.capabilities ?? [])],
    })),
  };
}
