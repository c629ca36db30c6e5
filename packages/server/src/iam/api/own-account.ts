/** Handlers of the caller's own account. */
import { create } from "@bufbuild/protobuf";
import { type Account, AccountSchema, type AccountsService, RecoveryCodesSchema } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import type { Call } from "../../api/call/call.ts";
import { type Handlers, read, type WriteHandler, write } from "../../api/call/implement.ts";
import { isCleanText } from "../../lib/clean-text.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { aborted, failedPrecondition, invalidArgument, notFound, permissionDenied, unauthenticated } from "../../lib/errors.ts";
import { mailAccountNotice, NOTICES } from "../accounts/account-notices.ts";
import { findAccount, lockAccount, updateAccount } from "../accounts/account-record.ts";
import { endSessions } from "../accounts/credentials.ts";
import { type LocalAccounts, requireLocalAccounts } from "../accounts/local-accounts.ts";
import { passkeysOf, removePasskey, renamePasskey } from "../accounts/passkeys.ts";
import { passwordFault } from "../accounts/password-rules.ts";
import { countRecoveryCodes, replaceRecoveryCodes } from "../accounts/recovery-codes.ts";
import type { LocalAccountTable } from "../tables.ts";
import { isNarrowed } from "../tokens/narrowing.ts";
import type { AccountsCollaborators } from "./accounts.ts";

type Service = typeof AccountsService;
type Method = Service["method"];

const MAX_NAME_LENGTH = 100;

export function ownAccountHandlers(
  collaborators: AccountsCollaborators,
): Pick<Handlers<Service>, "getOwnAccount" | "renamePasskey" | "removePasskey" | "changePassword" | "regenerateRecoveryCodes"> {
  return {
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
      await mailAccountNotice(call.db, { identityUid: account.identity_uid, event: NOTICES.passkeyRemoved, now: call.now }, collaborators);
      return describe(account, call);
    }),

    changePassword: changePassword(collaborators),
    regenerateRecoveryCodes: regenerateRecoveryCodes(collaborators),
  };
}

/** A change of the password that the person has proven to be the owner for. */
interface ProvenChange {
  /** Hash of the password that proved it; another one at the change means a recovery meanwhile. */
  readonly proven: string | null;
  readonly hash: string;
}

function changePassword(collaborators: AccountsCollaborators): WriteHandler<Method["changePassword"]> {
  return {
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
  };
}

function regenerateRecoveryCodes(collaborators: AccountsCollaborators): WriteHandler<Method["regenerateRecoveryCodes"]> {
  return {
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
  };
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
  const accounts = requireLocalAccounts(localAccounts);
  if (account.password_hash === null)
    throw failedPrecondition("NO_PASSWORD", "the account has no password; change it with a browser at /oauth/account");
  if (!(await accounts.checkOwner(account, proof))) throw permissionDenied("the password or the code is wrong");
  return accounts;
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
