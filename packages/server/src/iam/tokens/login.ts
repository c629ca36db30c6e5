/** Decides which identity a proof stands for, and whether it is proved. What that identity may do is not decided here. */

import type { ProviderSession } from "../../access/principal.ts";
import type { ReadDb } from "../../db/store.ts";
import { unauthenticated } from "../../lib/errors.ts";
import { isInRoot } from "../../lib/uid.ts";
import type { Grants } from "../grants/grants.ts";
import { findIdentityProvider } from "../identities/identity-provider-record.ts";
import { findIdentity } from "../identities/identity-record.ts";
import type { UserLogins } from "../identities/user-login.ts";
import type { AccessTokens } from "./access-token.ts";
import { type AudienceList, createAudienceList } from "./audience.ts";
import { assertAwsCallerMatches } from "./aws-match.ts";
import { AWS_STS_URL, type AwsProofs } from "./aws-proof.ts";
import { refusal } from "./claim-match.ts";
import { type ParsedJwt, parseJwt } from "./jwt.ts";
import type { LoginTokens } from "./login-token.ts";
import { type Narrowing, NOT_NARROWED } from "./narrowing.ts";
import type { RefreshGrant } from "./refresh-token.ts";
import { type Profile, profileOfActor, profileOfPrincipal } from "./subject.ts";
import type { WorkloadLogins } from "./workload-login.ts";

export interface Login {
  readonly identityUid: string;
  readonly profile: Profile;
  /** `user`: a person's login with the upstream issuer. `assumed`: of who named the identity. `again`: a token of ours was exchanged, by its own identity or another. */
  readonly kind: "user" | "assumed" | "again";
  readonly inherited: Narrowing;
  /** No token made of it may live longer. */
  readonly notAfter: Date | undefined;
  /** For whom tokens made of it may be; undefined for all that Holt makes tokens for. */
  readonly audiences: AudienceList | undefined;
  /** Of who came through an organization's identity provider, for the person's own identity and no other. */
  readonly session?: ProviderSession | undefined;
}

/** Whom a proof is to stand for. */
export interface Wanted {
  /** Uid of the identity that is asked for; empty for the one that the proof itself names. */
  readonly identity: string;
  /** Uid of the identity provider whose token it is; empty where none is named. */
  readonly identityProvider: string;
}

export interface LoginsOptions {
  readonly accessTokens: AccessTokens;
  readonly loginTokens: LoginTokens;
  readonly grants: Grants;
  readonly users: UserLogins;
  readonly workloads: WorkloadLogins;
  readonly awsProofs: AwsProofs;
  /** Audiences Holt makes tokens for: its own tokens for any of them may be exchanged. */
  readonly issuable: AudienceList;
}

export interface Logins {
  decide(proof: string, wanted: Wanted, now: Date, db: ReadDb): Promise<Login>;
  /** Of a login that is decided: the same, or that of the named identity, if it accepts who logged in. @throws PERMISSION_DENIED */
  assume(login: Login, identityUid: string, db: ReadDb): Promise<Login>;
  /** A user's login, gone on with by a refresh token. @throws UNAUTHENTICATED where its issuer is no longer one to log in with */
  resume(identityUid: string, grant: RefreshGrant, db: ReadDb): Promise<Login>;
}

export function createLogins({ accessTokens, loginTokens, grants, users, workloads, awsProofs, issuable }: LoginsOptions): Logins {
  async function viaAws(proof: string, identityUid: string, now: Date, db: ReadDb): Promise<Login> {
    if (identityUid === "") throw unauthenticated("the token is not a signed token, and an AWS proof is for a named identity");
    const request = awsProofs.check(proof, identityUid, now);
    const { relationship } = (await findIdentity(db, identityUid)) ?? {};
    if (relationship?.case !== "awsIdentity") throw refusal("iss");
    const { account, arn, userId } = await awsProofs.ask(request);
    assertAwsCallerMatches(relationship.value, { account, arn, userId });
    const actor = { iss: AWS_STS_URL, sub: arn, aud: accessTokens.issuer, arn, account, user_id: userId };
    return {
      identityUid,
      profile: profileOfActor(actor),
      kind: "assumed",
      inherited: NOT_NARROWED,
      notAfter: undefined,
      audiences: undefined,
    };
  }

  /** Our token stands for its identity, or for one that accepts that identity. What narrowed the token narrows what comes of it, whoever that is. */
  async function viaOurToken(token: ParsedJwt, identityUid: string, db: ReadDb): Promise<Login> {
    const principal = await accessTokens.verify(token.text, issuable);
    if (!(await grants.loadSession(principal)).exists) throw unauthenticated("the identity of the token no longer exists");
    const uid = identityUid === "" ? principal.uid : identityUid;
    if (uid !== principal.uid) workloads.assertAccepts(await findIdentity(db, uid), principal);
    const { scopes, capabilities, within, expiry, audience, session } = principal;
    // A token for another service is in that service's hands: it must not be able to make one for the API, or for a third, of it.
    const isForApi = audience.some((each) => accessTokens.audiences.has(each));
    return {
      identityUid: uid,
      profile: profileOfPrincipal(principal),
      kind: "again",
      inherited: { scopes, capabilities, ...(within !== undefined && { within }) },
      notAfter: new Date(expiry * 1000),
      audiences: isForApi ? undefined : createAudienceList(audience),
      ...(uid === principal.uid && session !== undefined && { session }),
    };
  }

  async function assume(login: Login, identityUid: string, db: ReadDb): Promise<Login> {
    if (identityUid === "") return login;
    const { session, ...rest } = login;
    if (identityUid === login.identityUid) return { ...login, kind: "assumed" };
    const { actor, email, emailVerified } = login.profile;
    const { issuer } = accessTokens;
    const claims = { uid: login.identityUid, actor, issuer, audience: [issuer], email, emailVerified };
    workloads.assertAccepts(await findIdentity(db, identityUid), claims);
    return { ...rest, identityUid, kind: "assumed" };
  }

  return {
    assume,
    async decide(proof, { identity: identityUid, identityProvider }, now, db) {
      // A signed token has two dots, an AWS proof none.
      if (!proof.includes(".")) return viaAws(proof, identityUid, now, db);
      const token = parseJwt(proof);
      if (token.issuer === accessTokens.issuer && loginTokens.isOne(token))
        return assume(await loginTokens.verify(token, now), identityUid, db);
      if (token.issuer === accessTokens.issuer) return viaOurToken(token, identityUid, db);
      if (identityUid === "") return users.login(token, identityProvider, now, db);
      if (isInRoot(identityUid)) return users.loginAs(token, identityUid, identityProvider, now, db);
      return workloads.login(token, await findIdentity(db, identityUid), now);
    },
    async resume(identityUid, { profile, narrowing, provider }, db) {
      const { iss = "" } = profile.actor;
      const isTrusted = provider === undefined ? users.trusts(iss) : (await findIdentityProvider(db, provider))?.issuer === iss;
      if (!isTrusted) throw unauthenticated("the issuer of this login is no longer one that users sign in with");
      const session = provider === undefined ? undefined : { provider, mappings: [], directoryMappings: [] };
      return { identityUid, profile, kind: "again", inherited: narrowing, notAfter: undefined, audiences: undefined, session };
    },
  };
}
