/** Provisioning by a company's directory through SCIM: turns it on and off, and manages its token. */
import { useMutation } from "@connectrpc/connect-query";
import {
  type IdentityProvider,
  type IdentityProvider_SCIM,
  IdentityProvidersService,
  IdentityProvider_SCIM_CredentialState as State,
  IdentityProvider_SCIM_CredentialStateSchema as StateSchema,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { Group, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { Details } from "../object/details.tsx";
import { enumText } from "../object/enum-text.ts";
import { SecretDialog } from "../object/secret-dialog.tsx";
import { Time } from "../object/time.tsx";

const { generateScimToken, regenerateScimToken, revokeScimToken, setScimEnabled } = IdentityProvidersService.method;

export function Scim({ provider }: { readonly provider: IdentityProvider }) {
  const { uid, scim } = provider;
  if (scim === undefined) return <Text>This provider has no SCIM.</Text>;
  // The operation that switches SCIM on needs the etag of a token.
  const isFirst = scim.credentialState === State.NOT_ISSUED;
  return (
    <Stack>
      <Details
        rows={[
          ["Provisioning", scim.enabled ? "on" : "off"],
          ["Address", <CopyText key="address" label="SCIM address" text={scim.endpointUrl} />],
          ["Token", enumText(StateSchema, scim.credentialState)],
          ["Token expires", <Time key="expires" value={scim.tokenExpireTime} />],
          ...(scim.credentialState === State.ROTATING
            ? [["Old token works until", <Time key="old" value={scim.previousTokenExpireTime} />] as const]
            : []),
        ]}
      />
      {isFirst && <Text>“New token” makes the token of the directory. Then SCIM can be switched on.</Text>}
      <Group gap="xs">
        {!isFirst && <EnableButton uid={uid} scim={scim} />}
        <TokenButton uid={uid} scim={scim} />
        {(scim.credentialState === State.LIVE || scim.credentialState === State.ROTATING) && <RevokeButton uid={uid} />}
      </Group>
    </Stack>
  );
}

interface ScimProps {
  /** uid of the identity provider. */
  readonly uid: string;
  readonly scim: IdentityProvider_SCIM;
}

function EnableButton({ uid, scim: { enabled, etag } }: ScimProps) {
  const change = useMutation(setScimEnabled);
  const run = async () => void (await change.mutateAsync({ identityProviderUid: uid, enabled: !enabled, etag }));
  if (enabled)
    return (
      <ConfirmButton label="Switch off" question="Switch SCIM off?" method={setScimEnabled} uid={uid} run={run}>
        The directory's requests are refused. People that it has deactivated stay deactivated.
      </ConfirmButton>
    );
  return (
    <Stack gap="xs">
      <ActionButton method={setScimEnabled} uid={uid} loading={change.isPending} onClick={() => void run().catch(() => undefined)}>
        Switch on
      </ActionButton>
      {change.error !== null && <ErrorAlert error={change.error} title="SCIM stays off" />}
    </Stack>
  );
}

function TokenButton({ uid, scim: { credentialState, etag } }: ScimProps) {
  const generate = useMutation(generateScimToken);
  const regenerate = useMutation(regenerateScimToken);
  const [secret, setSecret] = useState<{ readonly token: string; readonly endpointUrl: string }>();
  const isFirst = credentialState === State.NOT_ISSUED;
  return (
    <>
      {isFirst ? (
        <ActionButton
          method={generateScimToken}
          uid={uid}
          variant="default"
          loading={generate.isPending}
          onClick={() => generate.mutate({ identityProviderUid: uid }, { onSuccess: setSecret })}
        >
          New token
        </ActionButton>
      ) : (
        <ConfirmButton
          label="Replace the token"
          question="Replace the SCIM token?"
          method={regenerateScimToken}
          uid={uid}
          run={async () => setSecret(await regenerate.mutateAsync({ identityProviderUid: uid, etag }))}
        >
          The old token works for one more hour.
        </ConfirmButton>
      )}
      {generate.error !== null && <ErrorAlert error={generate.error} title="There is no new token" />}
      {secret !== undefined && (
        <SecretDialog title="SCIM token" onClose={() => setSecret(undefined)}>
          <CopyText isBlock label="address" text={secret.endpointUrl} />
          <CopyText isBlock label="token" text={secret.token} />
        </SecretDialog>
      )}
    </>
  );
}

function RevokeButton({ uid }: { readonly uid: string }) {
  const revoke = useMutation(revokeScimToken);
  return (
    <ConfirmButton
      label="Revoke the token"
      question="Revoke the SCIM token?"
      method={revokeScimToken}
      uid={uid}
      run={async () => void (await revoke.mutateAsync({ identityProviderUid: uid }))}
    >
      The directory's requests are refused from the next one on. A replaced token that still works ends, too.
    </ConfirmButton>
  );
}
