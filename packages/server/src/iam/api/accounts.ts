/** Accounts of this server: the caller's own, and those that an administrator recovers or disables. */
import { create } from "@bufbuild/protobuf";
import {
  type Account,
  AccountRecoverySchema,
  AccountSchema,
  AccountStatusSchema,
  AccountsService,
  type CreateAccountRecoveryRequest,
  RecoveryCodesSchema,
} from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { millisecondsFromDuration, timestampFromDate } from "../../lib/clock.ts";
import { aborted, failedPrecondition, invalidArgument, notFound, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { mailAccountNotice, NOTICES, type NoticeParts } from "../accounts/account-notices.ts";
import { findAccount, lockAccount, updateAccount } from "../accounts/account-record.ts";
import { endSessions } from "../accounts/credentials.ts";
import type { LocalAccounts } from "../accounts/local-accounts.ts";
import { passkeysOf, removePasskey, renamePasskey } from "../accounts/passkeys.ts";
import { passwordFault } from "../accounts/password-rules.ts";
import { countRecoveryCodes, replaceRecoveryCodes } from "../accounts/recovery-codes.ts";
import { createRecoveryLink, recoveryUrl } from "../accounts/recovery-links.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { LocalAccountTable } from "../tables.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import { findManaged } from "./account-authority.ts";
import type { EscalationCollaborators } from "./escalation.ts";

const MAX_NAME_LENGTH = 100;
const DEFAULT_TTL_MS = 3_600_000;
const MAX_TTL_MS = 24 * 3_600_000;

export interface AccountsCollaborators extends EscalationCollaborators, NoticeParts {
  readonly localAccounts: LocalAccounts | undefined;
  readonly secrets: Secrets;
}

export function accountsService(collaborators: AccountsCollaborators) {
  return implement(
    AccountsService,
    {
      getOwnAccount: read(async (_request, call) => describe(await ownAccount(call), call)),

      renamePasskey: write(async ({ uid, name }, call) => {
        assertPasskeyName(name);
        const account = await ownAccount(call);
        await renamePasskey(call.db, { identityUid: account.identity_uid, uid }, name);
        return describe(account, call);
      }),

      removePasskey: write(async ({ uid }, call) => {
        const account = await ownAccount(call);
        await removePasskey(call.db, { identityUid: account.identity_uid, uid });
        await updateAccount(call.db, account.identity_uid, {}, call.now);
        await mailAccountNotice(
          call.db,
          { identityUid: account.identity_uid, event: NOTICES.passkeyRemoved, now: call.now },
          collaborators,
        );
        return describe(account, call);
      }),

      changePassword: {
        kind: "write",
        async prepare({ password, code, newPassword }, call) {
          const account = await ownAccount(call);
          const { email, name } = account;
          const fault = await passwordFault(newPassword, { email, name, organizations: [] });
          if (fault !== undefined) throw invalidArgument("new_password", fault);
          const { passwords } = await prove(account, { password, code }, collaborators);
          return { proven: account.password_hash, hash: await passwords.hash(newPassword, account.identity_uid) };
        },
        async handle(_request, call, { proven, hash }: ProvenChange) {
          const { identity_uid: uid } = await ownAccount(call);
          const { password_hash: current } = await lockAccount(call.db, uid);
          if (current !== proven) throw aborted("the account has changed meanwhile; try again");
          await updateAccount(call.db, uid, { password_hash: hash }, call.now);
          await endSessions(call.db, uid, call.now);
          await mailAccountNotice(call.db, { identityUid: uid, event: NOTICES.passwordChanged, now: call.now }, collaborators);
          return describe(await lockAccount(call.db, uid), call);
        },
      },

      regenerateRecoveryCodes: {
        kind: "write",
        async prepare(proof, call) {
          await prove(await ownAccount(call), proof, collaborators);
        },
        async handle(_request, call) {
          const { identity_uid: uid } = await ownAccount(call);
          const codes = await replaceRecoveryCodes(call.db, uid, collaborators.secrets);
          // Ends recoveries that an older code began.
          await updateAccount(call.db, uid, {}, call.now);
          await mailAccountNotice(call.db, { identityUid: uid, event: NOTICES.codesReplaced, now: call.now }, collaborators);
          return create(RecoveryCodesSchema, { uid, codes: [...codes] });
        },
      },

      createAccountRecovery: write((request, call) => createRecovery(request, call, collaborators)),
      disableAccount: write(({ uid }, call) => setDisabled(uid, true, call, collaborators)),
      enableAccount: write(({ uid }, call) => setDisabled(uid, false, call, collaborators)),
    },
    "Account",
  );
}

/** A change of the password that the person has proven to be the owner for. */
interface ProvenChange {
  /** Hash of the password that proved it; another one at the change means a recovery meanwhile. */
  readonly proven: string | null;
  readonly hash: string;
}

/** @throws PERMISSION_DENIED for a narrowed token; NOT_FOUND if the caller has no account of this server */
async function ownAccount({ principal, db }: Call): Promise<LocalAccountTable> {
  if (principal === undefined) throw unauthenticated("sign in first");
  if (isNarrowed(principal)) throw permissionDenied("this token is narrowed and does not reach the account");
  const account = await findAccount(db, principal.uid);
  if (account === undefined) throw notFound("Account", principal.uid);
  return account;
}

/** The token alone is not enough to change how the person signs in. @throws PERMISSION_DENIED, FAILED_PRECONDITION */
async function prove(
  account: LocalAccountTable,
  proof: { readonly password: string; readonly code: string },
  { localAccounts }: AccountsCollaborators,
): Promise<LocalAccounts> {
  if (localAccounts === undefined) throw failedPrecondition("LOCAL_ACCOUNTS_OFF", "the operator has turned local accounts off");
  if (account.password_hash === null)
    throw failedPrecondition("NO_PASSWORD", "the account has no password; change it with a browser at /oauth/account");
  if (!(await localAccounts.checkOwner(account, proof))) throw permissionDenied("the password or the code is wrong");
  return localAccounts;
}

function assertPasskeyName(name: string): void {
  if (name === "" || name.length > MAX_NAME_LENGTH || !isCleanText(name))
    throw invalidArgument("name", `must be a name of at most ${MAX_NAME_LENGTH} characters`);
}

async function describe({ identity_uid: uid, name, email, ...account }: LocalAccountTable, { db }: Call): Promise<Account> {
  const passkeys = await passkeysOf(db, uid);
  return create(AccountSchema, {
    uid,
    name,
    email,
    emailVerified: account.email_verified_time !== null,
    hasPassword: account.password_hash !== null,
    hasAuthenticatorApp: account.totp_secret !== null,
    recoveryCodesLeft: await countRecoveryCodes(db, uid),
    passkeys: passkeys.map((passkey) => ({
      uid: passkey.uid,
      name: passkey.name,
      createTime: timestampFromDate(new Date(passkey.create_time)),
      ...(passkey.last_use_time !== null && { lastUseTime: timestampFromDate(new Date(passkey.last_use_time)) }),
    })),
    createTime: timestampFromDate(new Date(account.create_time)),
  });
}

async function createRecovery(
  { uid, resetSecondFactor, ttl }: CreateAccountRecoveryRequest,
  call: WriteCall,
  collaborators: AccountsCollaborators,
) {
  if (collaborators.localAccounts === undefined)
    throw failedPrecondition("LOCAL_ACCOUNTS_OFF", "the operator has turned local accounts off");
  const ttlMs = ttl === undefined ? DEFAULT_TTL_MS : millisecondsFromDuration(ttl);
  if (ttlMs <= 0 || ttlMs > MAX_TTL_MS) throw invalidArgument("ttl", "must be a duration above zero and of at most a day (86400s)");
  const { account, organizationUid } = await findManaged(uid, Capability.CAP_IAM_ACCOUNTS_RECOVER, call, collaborators);
  const expireTime = new Date(call.now.getTime() + ttlMs);
  const link = { identityUid: account.identity_uid, resetsSecondFactor: resetSecondFactor, creator: call.principal?.uid ?? "", expireTime };
  await mailAccountNotice(call.db, { identityUid: uid, event: NOTICES.linkCreated, now: call.now }, collaborators);
  const url = recoveryUrl(collaborators.baseUrl, await createRecoveryLink(call.db, link, call.now));
  return create(AccountRecoverySchema, { uid, organizationUid, url, resetSecondFactor, expireTime: timestampFromDate(expireTime) });
}

async function setDisabled(uid: string, disabled: boolean, call: WriteCall, collaborators: AccountsCollaborators) {
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
