/** The event of who registered or joined by signing in: the same as the API call's for it. */
import { create, getOption } from "@bufbuild/protobuf";
import { events, http } from "@holt/api";
import { Auth, RegistrationRequestSchema, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import type { WriteDb } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import { appendEvent, type EventNames } from "../outbox/outbox.ts";

export function appendRegistered(
  db: WriteDb,
  { identityUid, profile }: PersonAccount,
  groupUid: string,
  now: Date,
  names: EventNames,
): Promise<void> {
  const method = Auth.method.register;
  const happening = {
    method,
    type: getOption(method, events).type,
    audience: "customer" as const,
    path: getOption(method, http).pattern.value as string,
    alias: undefined,
    request: create(RegistrationRequestSchema),
    response: create(SessionSchema, { identity: identityUid, group: groupUid }),
    actor: { subject: identityUid, act: profile.actor },
    now,
  };
  return appendEvent(db, happening, names);
}
