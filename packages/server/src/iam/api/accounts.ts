/** Accounts of this server: the caller's own, and those that an administrator recovers or disables. */
import { AccountsService } from "@holt/api/gen/holt/v1/accounts_pb.ts";
import { implement, write } from "../../api/call/implement.ts";
import type { NoticeParts } from "../accounts/account-notices.ts";
import type { LocalAccounts } from "../accounts/local-accounts.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { EscalationCollaborators } from "./escalation.ts";
import { createRecovery, setDisabled } from "./managed-accounts.ts";
import { ownAccountHandlers } from "./own-account.ts";

export interface AccountsCollaborators extends EscalationCollaborators, NoticeParts {
  readonly localAccounts: LocalAccounts | undefined;
  readonly secrets: Secrets;
}

export function accountsService(collaborators: AccountsCollaborators) {
  return implement(
    AccountsService,
    {
      ...ownAccountHandlers(collaborators),
      createAccountRecovery: write((request, call) => createRecovery(request, call, collaborators)),
      disableAccount: write(({ uid }, call) => setDisabled(uid, true, call, collaborators)),
      enableAccount: write(({ uid }, call) => setDisabled(uid, false, call, collaborators)),
    },
    "Account",
  );
}
