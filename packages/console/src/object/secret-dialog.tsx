/** Shows a secret that the API answers only once. Closes by its button alone, so that a click outside of it does not lose the secret. */
import { Button, Group, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Dialog } from "../frame/dialog.tsx";

export interface SecretDialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function SecretDialog({ title, onClose, children }: SecretDialogProps) {
  return (
    <Dialog onClose={onClose} title={title} size="lg" withCloseButton={false} closeOnClickOutside={false} closeOnEscape={false}>
      <Stack>
        <Text>Copy it now: nobody can show it again.</Text>
        {children}
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
