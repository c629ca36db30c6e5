/** Checks a token of the machine against what is typed, before it is saved, and shows the claim that does not match. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { AccessService, type TestTokenResponse } from "@holt/api/gen/holt/v1/access_pb.ts";
import type { IdentitySchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Alert, Button, Stack, Table, Text, Textarea } from "@mantine/core";
import { useState } from "react";
import { ErrorAlert } from "../frame/error-alert.tsx";

export interface TokenCheckProps {
  /** uid of the group of the identity. */
  readonly parent: string;
  /** The identity as it would be saved. */
  readonly identity: MessageInitShape<typeof IdentitySchema>;
}

interface Checked {
  readonly token: string;
  /** The input that was checked, to notice later changes. */
  readonly draft: string;
  readonly answer?: TestTokenResponse;
  readonly error?: unknown;
}

export function TokenCheck({ parent, identity }: TokenCheckProps) {
  const transport = useTransport();
  const [token, setToken] = useState("");
  const [checked, setChecked] = useState<Checked>();
  const [isChecking, setChecking] = useState(false);
  const draft = draftText(identity);

  async function check(): Promise<void> {
    setChecking(true);
    const tried = { token: token.trim(), draft };
    try {
      const answer = await callUnaryMethod(transport, AccessService.method.testToken, { parent, token: tried.token, identity });
      setChecked({ ...tried, answer });
    } catch (error) {
      setChecked({ ...tried, error });
    }
    setChecking(false);
  }

  return (
    <Stack gap="xs">
      <Textarea
        label="A token of the machine"
        description="Checked against the fields above. The server neither stores nor logs it."
        value={token}
        autosize
        minRows={2}
        maxRows={6}
        onChange={({ currentTarget }) => setToken(currentTarget.value)}
      />
      <Button variant="default" disabled={token.trim() === ""} loading={isChecking} onClick={() => void check()}>
        Check the token
      </Button>
      {checked?.draft !== undefined && checked.draft !== draft && <Text size="sm">The fields have changed since this check.</Text>}
      {checked?.error !== undefined && <ErrorAlert error={checked.error} title="The token cannot be checked" />}
      {checked?.answer !== undefined && <Verdict answer={checked.answer} token={checked.token} />}
    </Stack>
  );
}

function Verdict({ answer, token }: { readonly answer: TestTokenResponse; readonly token: string }) {
  const { tokenError, matches, nearMisses } = answer;
  const [miss] = nearMisses;
  const isMatch = matches.length > 0;
  return (
    <Alert
      role="status"
      variant="outline"
      color={isMatch ? undefined : "red"}
      title={isMatch ? "The token would sign the machine in" : "The token would be refused"}
    >
      {tokenError !== "" && <Text>The token itself is not valid: {tokenError}.</Text>}
      {miss !== undefined && (
        <Text>
          {miss.claim !== "" && (
            <>
              The claim <bdi>{miss.claim}</bdi> does not match:{" "}
            </>
          )}
          <bdi>{miss.explanation}</bdi>
        </Text>
      )}
      <Claims claims={claimsOf(token)} failed={miss?.claim ?? ""} />
    </Alert>
  );
}

function Claims({ claims, failed }: { readonly claims: readonly (readonly [name: string, value: string])[]; readonly failed: string }) {
  if (claims.length === 0) return null;
  return (
    <Table mt="xs" layout="fixed" captionSide="top">
      <Table.Caption>Claims of the token</Table.Caption>
      <Table.Tbody style={{ overflowWrap: "anywhere" }}>
        {claims.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">
              <bdi>{name}</bdi>
              {name === failed && " (does not match)"}
            </Table.Th>
            <Table.Td>
              <bdi>{value}</bdi>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/** Empty for a text that is not a token. */
function claimsOf(token: string): readonly (readonly [string, string])[] {
  try {
    const part = (token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (char) => char.charCodeAt(0)))) as object;
    return Object.entries(claims).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  } catch {
    return [];
  }
}

function draftText(identity: MessageInitShape<typeof IdentitySchema>): string {
  return JSON.stringify(identity.relationship, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
}
