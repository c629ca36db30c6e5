/**
 * Asks the person to sign in again, in another tab, when the session has ended. The page stays as it is, and its requests
 * wait, so that no input is lost.
 */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { refresh, startSession, useSession } from "./session.ts";

export function SessionEndedDialog() {
  const { kind } = useSession();
  const [problem, setProblem] = useState("");
  async function check(): Promise<void> {
    try {
      await refresh();
      const found = await startSession();
      setProblem(found.kind === "signedIn" ? "" : "This browser is not signed in yet.");
    } catch (error) {
      setProblem((error as Error).message);
    }
  }
  return (
    <Modal
      opened={kind === "ended" || kind === "signedOut"}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="Your session has ended"
      // Above the dialog with a form that was opened later.
      zIndex={300}
    >
      <Stack>
        <Text>What you have entered on this page is still here. Sign in again, in another tab, to continue.</Text>
        {problem !== "" && (
          <Text role="alert" c="var(--mantine-color-error)">
            {problem}
          </Text>
        )}
        <Group>
          <Button onClick={() => window.open("/console/sign-in?again=1", "_blank")}>Sign in again</Button>
          <Button variant="default" onClick={() => void check()}>
            I have signed in
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
