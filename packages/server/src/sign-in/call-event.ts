/** Appends the events of calls that the pages of sign-in make for a person. They equal the events of the API's own calls. */
import { getOption } from "@bufbuild/protobuf";
import { events, http } from "@holt/api";
import { claimsShownTo } from "../access/actor.ts";
import type { WriteDb } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { appendEvent, type EventedCall, type EventNames } from "../outbox/outbox.ts";

interface PersonCall extends Pick<EventedCall, "method" | "request" | "response" | "now"> {
  readonly account: PersonAccount;
}

export function appendCallEvent(db: WriteDb, { method, request, response, account, now }: PersonCall, names: EventNames): Promise<void> {
  const event = {
    method,
    type: getOption(method, events).type,
    audience: "customer" as const,
    path: getOption(method, http).pattern.value as string,
    alias: undefined,
    request,
    response,
    actor: { subject: account.identityUid, claimsAt: (group: string) => claimsAt(account, group) },
    now,
  };
  return appendEvent(db, event, names);
}

/** An organization sees the claims of people who join it. */
export function claimsAt({ mayJoin, member, profile }: PersonAccount, groupUid: string): Readonly<Record<string, string>> {
  return mayJoin ? claimsShownTo(groupUid, profile.actor, member?.provider.organizationUid) : {};
}
