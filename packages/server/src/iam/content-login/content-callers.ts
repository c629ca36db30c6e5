/** Makes callers of the registry and of libraries of principals: their current rights, and those of anonymous callers. */
import { type Access, NO_ACCESS } from "../../access/capabilities.ts";
import { ANONYMOUS_UID, anonymousPrincipal, isAnonymous, type Principal } from "../../access/principal.ts";
import type { RepositoryLimit } from "../../access/repository-patterns.ts";
import type { Clock } from "../../lib/clock.ts";
import { unauthenticated } from "../../lib/errors.ts";
import type { Grants } from "../grants/grants.ts";

/** A caller of the registry or of libraries. */
export interface ContentCaller {
  readonly principal: Principal;
  /** The current rights, narrowed by the token. */
  readonly access: Access;
  /** The only repositories where the rights hold; undefined for all. */
  readonly repositories?: RepositoryLimit | undefined;
  /** The rights of anonymous callers. Callers with a login have them, too. */
  readonly publicAccess: Access;
}

export interface ContentCallers {
  /** Undefined while nothing is public. */
  anonymous(): Promise<ContentCaller | undefined>;
  /** @throws UNAUTHENTICATED if the principal has no rights any more */
  fromPrincipal(principal: Principal): Promise<ContentCaller>;
}

export interface ContentCallersOptions {
  readonly grants: Grants;
  readonly clock: Clock;
  /** Issuer and audience of tokens for anonymous callers; undefined if the operator forbids public content. */
  readonly anonymous: { readonly issuer: string; readonly audience: string } | undefined;
}

export function createContentCallers({ grants, clock, anonymous }: ContentCallersOptions): ContentCallers {
  async function readPublicAccess(): Promise<Access> {
    return anonymous === undefined ? NO_ACCESS : (await grants.load(ANONYMOUS_UID)).access;
  }

  return {
    async anonymous() {
      const access = await readPublicAccess();
      if (anonymous === undefined || !access.hasAny()) return undefined;
      return { principal: anonymousPrincipal(anonymous.issuer, anonymous.audience, clock.now()), access, publicAccess: access };
    },
    async fromPrincipal(principal) {
      const publicAccess = await readPublicAccess();
      if (isAnonymous(principal)) {
        if (publicAccess.hasAny()) return { principal, access: publicAccess, publicAccess };
        throw unauthenticated("log in: nothing is public any more");
      }
      const { exists, access, repositories, isEnded } = await grants.loadSession(principal);
      if (exists) return { principal, access, repositories, publicAccess };
      if (isEnded === true) throw unauthenticated("the session of this token was ended; sign in again");
      if (principal.pullTokenSecret === undefined) throw unauthenticated("the identity of this token no longer exists");
      throw unauthenticated("the pull token has expired or was revoked, or its creator no longer exists");
    },
  };
}
