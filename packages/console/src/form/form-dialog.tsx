/** A form in a dialog. Closing it with unsaved input asks first; an error keeps the input. */
import { Button, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Dialog } from "../frame/dialog.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { useFocusReturn } from "../frame/focus-return.ts";
import { OvertakenAlert } from "./overtaken-alert.tsx";
import { sendForm } from "./send-form.ts";
import type { Form } from "./use-form.ts";

export interface FormDialogProps {
  readonly title: string;
  /** Text of the button that sends the form. */
  readonly send: string;
  // biome-ignore lint/suspicious/noExplicitAny: a dialog takes the form of any values
  readonly form: Form<any>;
  /** Fields that show their violations themselves, by their names in the contract. */
  readonly fields: ReadonlySet<string>;
  readonly isDangerous?: boolean;
  readonly size?: "lg" | "xl" | undefined;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function FormDialog({ title, send, form, fields, isDangerous = false, size, onClose, children }: FormDialogProps) {
  const [isAsking, setAsking] = useState(false);
  const asks = isAsking || form.leaving !== undefined;
  const close = () => (form.isDirty ? setAsking(true) : onClose());
  return (
    <Dialog onClose={close} title={title} size={size}>
      {/* The fields stay where they are while the question is open, so they keep their input. */}
      <form onSubmit={(event) => sendForm(event, form)} hidden={asks} noValidate>
        <Stack>
          {children}
          {form.error !== undefined && (
            <div ref={reveal}>
              <ErrorAlert error={form.error} fieldsShownElsewhere={fields} onLeave={form.isDirty ? undefined : onClose} />
            </div>
          )}
          {form.overtaken.length > 0 && <OvertakenAlert overtaken={form.overtaken} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={form.isSending} color={isDangerous ? "red.9" : undefined}>
              {send}
            </Button>
          </Group>
        </Stack>
      </form>
      {asks && (
        <UnsavedQuestion
          onStay={() => {
            setAsking(false);
            form.leaving?.stay();
          }}
          onLeave={() => {
            onClose();
            form.leaving?.leave();
          }}
        />
      )}
    </Dialog>
  );
}

/** To be shown in a dialog. */
export function UnsavedQuestion({ onStay, onLeave }: { readonly onStay: () => void; readonly onLeave: () => void }) {
  useFocusReturn();
  return (
    <Stack role="alert">
      <Text>What you have entered is not saved.</Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onLeave}>
          Discard it
        </Button>
        <Button ref={focus} onClick={onStay}>
          Keep editing
        </Button>
      </Group>
    </Stack>
  );
}

/** Scrolls a long form to its error. */
export function reveal(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}

function focus(element: HTMLElement | null): void {
  element?.focus();
}
