/** Which claims about a caller its events contain. Pure. */
import { rootOf } from "../lib/uid.ts";
import type { Access } from "./capabilities.ts";
import type { Actor, Principal } from "./principal.ts";

/** An organization sees the claims of people who have joined it. */
export function actorFromPrincipal({ uid, actor, session }: Principal, access: Access): Actor {
  return {
    subject: uid,
    claimsAt(groupUid) {
      if (!access.hasJoined(groupUid)) return {};
      return claimsShownTo(groupUid, actor, session && rootOf(session.provider));
    },
  };
}

/**
 * Leaves out the email address if it comes from the identity provider of another organization than the group's.
 * @param providerOrganization uid; undefined if the claims do not come from an organization's identity provider
 */
export function claimsShownTo(groupUid: string, claims: Claims, providerOrganization: string | undefined): Claims {
  if (providerOrganization === undefined || providerOrganization === rootOf(groupUid)) return claims;
  const { email: _email, ...others } = claims;
  return others;
}

type Claims = Readonly<Record<string, string>>;
