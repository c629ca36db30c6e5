/** Recovers and disables accounts of people whom the caller manages. */
import { create } from "@bufbuild/protobuf";
import { AccountRecoverySchema, AccountStatusSchema, type CreateAccountRecoveryRequest } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { millisecondsFromDuration, timestampFromDate } from "../../lib/clock.ts";
import { failedPrecondition, invalidArgument } from "../../lib/errors.ts";
import { mailAccountNotice, NOTICES } from "../accounts/account-notices.ts";
import { updateAccount } from "../accounts/account-record.ts";
import { endSessions } from "../accounts/credentials.ts";
import { requireLocalAccounts } from "../accounts/local-accounts.ts";
import { createRecoveryLink, lockRecoveryLinks, recoveryUrl } from "../accounts/recovery-links.ts";
import { findManaged } from "./account-authority.ts";
import type { AccountsCollaborators } from "./accounts.ts";

const DEFAULT_TTL_MS = 3_600_000;
const MAX_TTL_MS = 24 * 3_600_000;

export async function createRecovery(
  { uid, resetSecondFactor, ttl }: CreateAccountRecoveryRequest,
  call: WriteCall,
  collaborators: AccountsCollaborators,
) {
  requireLocalAccounts(collaborators.localAccounts);
  const ttlMs = ttl === undefined ? DEFAULT_TTL_MS : millisecondsFromDuration(ttl);
  if (ttlMs <= 0 || ttlMs > MAX_TTL_MS) throw invalidArgument("ttl", "must be a duration above zero and of at most a day (86400s)");
  await lockRecoveryLinks(call.db);
  const { account, organizationUid } = await findManaged(uid, Capability.CAP_IAM_ACCOUNTS_RECOVER, call, collaborators);
  const expireTime = new Date(call.now.getTime() + ttlMs);
  const link = { identityUid: account.identity_uid, resetsSecondFactor: resetSecondFactor, creator: call.principal?.uid ?? "", expireTime };
  await mailAccountNotice(call.db, { identityUid: uid, event: NOTICES.linkCreated, now: call.now }, collaborators);
  const url = recoveryUrl(collaborators.baseUrl, await createRecoveryLink(call.db, link, call.now));
  return create(AccountRecoverySchema, { uid, organizationUid, url, resetSecondFactor, expireTime: timestampFromDate(expireTime) });
}

export async function setDisabled(uid: string, disabled: boolean, call: WriteCall, collaborators: AccountsCollaborators) {
  const { account, organizationUid } = await findManaged(uid, Capability.CAP_IAM_ACCOUNTS_DISABLE, call, collaborators);
  if (uid === collaborators.bootstrapOwner) throw failedPrecondition("BOOTSTRAP_OWNER", "the bootstrap owner cannot be disabled");
  call.changed = (account.disabled_time !== null) !== disabled;
  if (call.changed) {
    await updateAccount(call.db, uid, { disabled_time: disabled ? call.now.toISOString() : null }, call.now);
    if (disabled) await endSessions(call.db, uid, call.now);
    if (disabled) await mailAccountNotice(call.db, { identityUid: uid, event: NOTICES.disabled, now: call.now }, collaborators);
    await collaborators.grants.recordChange(call.db, [uid]);
  }
  return create(AccountStatusSchema, { uid, organizationUid, disabled });
}
