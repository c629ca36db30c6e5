/** A form that is a screen of its own. Leaving it with unsaved input asks first; an error keeps the input. */
import { Button, Group, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Dialog } from "../frame/dialog.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { reveal, UnsavedQuestion } from "./form-dialog.tsx";
import { sendForm } from "./send-form.ts";
import type { Form } from "./use-form.ts";

export interface FormPageProps {
  /** Text of the button that sends the form. */
  readonly send: string;
  // biome-ignore lint/suspicious/noExplicitAny: a page takes the form of any values
  readonly form: Form<any>;
  /** Fields that show their violations themselves, by their names in the contract. */
  readonly fields: ReadonlySet<string>;
  readonly children: ReactNode;
}

export function FormPage({ send, form, fields, children }: FormPageProps) {
  const { leaving } = form;
  return (
    <>
      <form onSubmit={(event) => sendForm(event, form)} noValidate>
        <Stack maw="40rem">
          {children}
          {form.error !== undefined && (
            <div ref={reveal}>
              <ErrorAlert error={form.error} fieldsShownElsewhere={fields} />
            </div>
          )}
          <Group justify="flex-end">
            <Button type="submit" loading={form.isSending}>
              {send}
            </Button>
          </Group>
        </Stack>
      </form>
      {leaving !== undefined && (
        <Dialog onClose={leaving.stay} title="Leave this screen?">
          <UnsavedQuestion onStay={leaving.stay} onLeave={leaving.leave} />
        </Dialog>
      )}
    </>
  );
}
