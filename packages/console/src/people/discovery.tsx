/** Asks an issuer what it supports, and shows the answer, while an identity provider is set up. */
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { type DiscoverProviderResponse, SignInSettingsService } from "@holt/api/gen/holt/v1/sign_in_settings_pb.ts";
import { Alert, Button, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { CopyText } from "../object/copy-text.tsx";

export interface DiscoveryProps {
  /** uid of the organization. */
  readonly organization: string;
  readonly issuer: string;
  readonly onFound: (found: DiscoverProviderResponse) => void;
}

export function Discovery({ organization, issuer, onFound }: DiscoveryProps) {
  const transport = useTransport();
  const [isAsking, setAsking] = useState(false);
  const [found, setFound] = useState<{ readonly issuer: string; readonly answer: DiscoverProviderResponse }>();
  const [error, setError] = useState<unknown>();

  async function ask(): Promise<void> {
    setAsking(true);
    setError(undefined);
    setFound(undefined);
    try {
      const answer = await callUnaryMethod(transport, SignInSettingsService.method.discoverProvider, { parent: organization, issuer });
      setFound({ issuer, answer });
      if (answer.problem === "") onFound(answer);
    } catch (thrown) {
      setError(thrown);
    }
    setAsking(false);
  }

  return (
    <Stack gap="xs">
      <Button variant="default" disabled={issuer === ""} loading={isAsking} onClick={() => void ask()}>
        Ask the issuer
      </Button>
      {error !== undefined && <ErrorAlert error={error} title="The issuer cannot be asked" />}
      {found?.issuer === issuer && <Answer answer={found.answer} />}
    </Stack>
  );
}

function Answer({ answer }: { readonly answer: DiscoverProviderResponse }) {
  const { problem, authorizationEndpoint, pkceSupported, scopesSupported, claimsSupported, redirectUri } = answer;
  return (
    <Alert
      role="status"
      variant="outline"
      color={problem === "" ? undefined : "red"}
      title={problem === "" ? "The issuer answers" : "The issuer cannot be used"}
    >
      <Stack gap="xs" style={{ overflowWrap: "anywhere" }}>
        {problem !== "" && <bdi>{problem}</bdi>}
        {authorizationEndpoint !== "" && (
          <Text size="sm">
            People sign in at <bdi>{authorizationEndpoint}</bdi>. PKCE: {pkceSupported ? "supported" : "not announced"}.
          </Text>
        )}
        {scopesSupported.length > 0 && (
          <Text size="sm">
            Scopes: <bdi>{scopesSupported.join(", ")}</bdi>
          </Text>
        )}
        {claimsSupported.length > 0 && (
          <Text size="sm">
            Claims: <bdi>{claimsSupported.join(", ")}</bdi>
          </Text>
        )}
        <Text size="sm">Register this redirect URI there:</Text>
        <CopyText label="redirect URI" text={redirectUri} />
      </Stack>
    </Alert>
  );
}
