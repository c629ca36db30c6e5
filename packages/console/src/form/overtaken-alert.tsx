/** Says which values of a form somebody else has changed since it was opened, and what is stored now. */
import { Alert, List, Text } from "@mantine/core";
import type { Overtaken } from "./overtaken.ts";

export function OvertakenAlert({ overtaken }: { readonly overtaken: readonly Overtaken[] }) {
  return (
    <Alert color="red" title="Somebody else has changed this meanwhile" role="alert" variant="outline">
      <List size="sm">
        {overtaken.map(({ name, stored }) => (
          <List.Item key={name}>
            {wordsOf(name)}: now <bdi>{textOf(stored)}</bdi>
          </List.Item>
        ))}
      </List>
      <Text size="sm" mt="xs">
        Nothing is saved yet. Save again to replace this with your input, or cancel to keep it.
      </Text>
    </Alert>
  );
}

/** `clientId` becomes "Client id". */
function wordsOf(name: string): string {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

function textOf(stored: unknown): string {
  if (Array.isArray(stored)) return `a list of ${stored.length}`;
  if (typeof stored === "boolean") return stored ? "on" : "off";
  return stored === "" || stored === undefined ? "empty" : `“${stored}”`;
}
