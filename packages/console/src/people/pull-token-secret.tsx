/** The password of a new pull token, and the commands that use it. */
import type { PullToken } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { CopyText } from "../object/copy-text.tsx";
import { SecretDialog } from "../object/secret-dialog.tsx";
import { PullTokenCommands } from "./pull-token-commands.tsx";

export function PullTokenSecret({ token, onClose }: { readonly token: PullToken; readonly onClose: () => void }) {
  const { userName, password } = token;
  return (
    <SecretDialog title={`Pull token ${token.name}`} onClose={onClose}>
      <CopyText label="user name" text={userName} />
      <CopyText label="password" text={password} />
      <PullTokenCommands token={token} password={password} />
    </SecretDialog>
  );
}
