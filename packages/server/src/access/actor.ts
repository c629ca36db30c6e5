/** Which claims about a caller its events contain. Pure. */
import { rootOf } from "../lib/uid.ts";
import type { Access } from "./capabilities.ts";
import type { Actor, Principal } from "./principal.ts";

/**
 * An organization sees the claims of people who have joined it. The email address from another organization's identity
 * provider is left out.
 */
export function actorFromPrincipal({ uid, actor, session }: Principal, access: Access): Actor {
  return {
    subject: uid,
    claimsAt(groupUid) {
      if (!access.hasJoined(groupUid)) return {};
      if (session === undefined || rootOf(session.provider) === rootOf(groupUid)) return actor;
      const { email: _email, ...others } = actor;
      return others;
    },
  };
}
