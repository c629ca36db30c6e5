/** Appends the event of a registration through sign-in; it equals the event of the API's Register call. */
import { create } from "@bufbuild/protobuf";
import { Auth, RegistrationRequestSchema, SessionSchema } from "@holt/api/gen/platform/auth/v1/auth_pb.ts";
import type { WriteDb } from "../db/store.ts";
import type { PersonAccount } from "../iam/identities/person-account.ts";
import type { EventNames } from "../outbox/outbox.ts";
import { appendCallEvent } from "./call-event.ts";

interface Registration {
  readonly account: PersonAccount;
  /** Uid of the joined group, or the empty string. */
  readonly groupUid: string;
  readonly now: Date;
}

export function appendRegistrationEvent(db: WriteDb, { account, groupUid, now }: Registration, names: EventNames): Promise<void> {
  const response = create(SessionSchema, { identity: account.identityUid, group: groupUid });
  const call = { method: Auth.method.register, request: create(RegistrationRequestSchema), response, account, now };
  return appendCallEvent(db, call, names);
}
