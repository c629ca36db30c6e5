/** Appends the event of a registration through sign-in; it equals the event of the API's Register call. */
import { create, getOption } from "@bufbuild/protobuf";
import { events, http } from "@holt/api";
import { Auth, RegistrationRequestSchema, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import { claimsShownTo } from "../access/actor.ts";
import type { WriteDb } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { appendEvent, type EventNames } from "../outbox/outbox.ts";

interface Registration {
  readonly account: PersonAccount;
  /** Uid of the joined group, or the empty string. */
  readonly groupUid: string;
  readonly now: Date;
}

export function appendRegistrationEvent(db: WriteDb, { account, groupUid, now }: Registration, names: EventNames): Promise<void> {
  const { identityUid } = account;
  const method = Auth.method.register;
  const event = {
    method,
    type: getOption(method, events).type,
    audience: "customer" as const,
    path: getOption(method, http).pattern.value as string,
    alias: undefined,
    request: create(RegistrationRequestSchema),
    response: create(SessionSchema, { identity: identityUid, group: groupUid }),
    actor: { subject: identityUid, claimsAt: (group: string) => claimsAt(account, group) },
    now,
  };
  return appendEvent(db, event, names);
}

/** An organization sees the claims of people who join it. */
export function claimsAt({ mayJoin, member, profile }: PersonAccount, groupUid: string): Readonly<Record<string, string>> {
  return mayJoin ? claimsShownTo(groupUid, profile.actor, member?.provider.organizationUid) : {};
}
