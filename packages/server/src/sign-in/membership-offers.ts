/** Offers a person who has signed in to join the organizations that have bound the person. */
import { create } from "@bufbuild/protobuf";
import {
  AcceptMembershipRequestSchema,
  MembershipSchema,
  MembershipsService,
  Membership_State as State,
} from "@holt/api/gen/holt/v1/memberships_pb.ts";
import type { ReadDb, Store } from "../db/store.ts";
import type { Grants } from "../iam/grants/grants.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { join } from "../iam/joining/membership.ts";
import { findPendingOrganizations } from "../iam/joining/pending-organizations.ts";
import { timestampFromDate } from "../lib/clock.ts";
import type { EventNames } from "../outbox/outbox.ts";
import { appendCallEvent } from "./call-event.ts";

/** Anyone can bind a person, so a page names only some. */
const MAX_OFFERS = 10;

export interface MembershipOffer {
  /** Uid of the organization. */
  readonly uid: string;
  readonly name: string;
  readonly isVerified: boolean;
}

/** Empty for a login that is valid in one organization only: with it, a person does not join others. */
export async function findOffers(db: ReadDb, { identityUid, within }: PersonAccount): Promise<readonly MembershipOffer[]> {
  const uids = within === undefined ? await findPendingOrganizations(db, identityUid, MAX_OFFERS) : [];
  if (uids.length === 0) return [];
  const query = db
    .selectFrom("group")
    .select(["uid", "name", "verified"])
    .where("uid", "in", [...uids]);
  const rows = await query.orderBy("verified", "desc").orderBy("name").orderBy("uid").execute();
  return rows.map(({ uid, name, verified }) => ({ uid, name, isVerified: verified === 1 }));
}

export interface AcceptanceParts {
  readonly store: Store;
  readonly grants: Grants;
  readonly names: EventNames;
}

/** Emits the event of the API's call. @returns false if the offer no longer stands */
export function acceptOffer(account: PersonAccount, uid: string, now: Date, { store, grants, names }: AcceptanceParts): Promise<boolean> {
  const { identityUid } = account;
  return store.transaction(async (db) => {
    const offer = (await findOffers(db, account)).find((each) => each.uid === uid);
    if (offer === undefined || !(await join(db, { identityUid, groupUid: uid, now }))) return false;
    await grants.recordChange(db, [identityUid]);
    const membership = { uid, identityUid, name: offer.name, state: State.JOINED, updateTime: timestampFromDate(now) };
    const call = {
      method: MembershipsService.method.acceptMembership,
      request: create(AcceptMembershipRequestSchema, { uid }),
      response: create(MembershipSchema, membership),
      account,
      now,
    };
    await appendCallEvent(db, call, names);
    return true;
  });
}
