/** Shows the private key of a machine once, and how the machine uses it. */
import { Button, Text } from "@mantine/core";
import { saveFile } from "../list/export.ts";
import { CopyText } from "../object/copy-text.tsx";
import { SecretDialog } from "../object/secret-dialog.tsx";
import { proofCommand, type StaticKey } from "./static-key.ts";

export interface StaticKeySecretProps {
  readonly staticKey: StaticKey;
  /** uid of the identity. */
  readonly identity: string;
  readonly issuer: string;
  readonly subject: string;
  readonly onClose: () => void;
}

export function StaticKeySecret({ staticKey, identity, issuer, subject, onClose }: StaticKeySecretProps) {
  const { privateKey, kid } = staticKey;
  const audience = location.origin;
  return (
    <SecretDialog title="Private key of the machine" onClose={onClose}>
      <CopyText isBlock label="private key" text={privateKey} />
      <Button variant="default" onClick={() => saveFile(new Blob([privateKey], { type: "application/x-pem-file" }), "key.pem")}>
        Save as key.pem
      </Button>
      <Text size="sm">The machine signs a proof with it:</Text>
      <CopyText isBlock label="command that signs a proof" text={proofCommand({ kid, issuer, subject, audience })} />
      <Text size="sm">It exchanges the proof for a token of the API:</Text>
      <CopyText
        isBlock
        label="command that exchanges the proof"
        text={`curl -H "Authorization: Bearer $PROOF" -d "identity=${identity}" ${audience}/sts/exchange`}
      />
    </SecretDialog>
  );
}
