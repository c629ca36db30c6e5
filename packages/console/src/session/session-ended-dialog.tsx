/**
 * Asks the person to sign in again, in another tab, when the session has ended. The page stays as it is, and its requests
 * wait, so that no input is lost.
 */
import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { refresh, useSession } from "./session.ts";

export function SessionEndedDialog() {
  const { kind } = useSession();
  return (
    <Modal
      opened={kind === "ended" || kind === "signedOut"}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      title="Your session has ended"
    >
      <Stack>
        <Text>What you have entered on this page is still here. Sign in again, in another tab, to continue.</Text>
        <Group>
          <Button onClick={() => window.open("/console/sign-in?again=1", "_blank")}>Sign in again</Button>
          <Button variant="default" onClick={() => void refresh()}>
            I have signed in
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
