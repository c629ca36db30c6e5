/** A button for an operation that cannot be undone: it asks first, and shows in the dialog why the operation failed. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "./action-button.tsx";

export interface ConfirmButtonProps {
  /** Text of both buttons: "Delete". */
  readonly label: string;
  /** Title of the dialog, which names the object: "Delete the tag latest?". */
  readonly question: string;
  readonly method: DescMethod;
  /** Uid at which the operation needs its capabilities. */
  readonly uid: string;
  /** Whether the object is the person's own, so that the operation needs no capability. */
  readonly isOwn?: boolean;
  /** Whether the button is in a row of a list. */
  readonly isCompact?: boolean;
  readonly run: () => Promise<void>;
  /** Tells the consequences. */
  readonly children: ReactNode;
}

export function ConfirmButton(props: ConfirmButtonProps) {
  const { label, method, uid, isOwn, isCompact = false } = props;
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton
        method={method}
        uid={uid}
        isOwn={isOwn}
        variant="outline"
        color="red"
        size={isCompact ? "compact-xs" : "sm"}
        onClick={open}
      >
        {label}
      </ActionButton>
      {isOpen && <ConfirmDialog {...props} onClose={close} />}
    </>
  );
}

function ConfirmDialog({ label, question, run, children, onClose }: ConfirmButtonProps & { readonly onClose: () => void }) {
  const form = useForm({}, async () => {
    await run();
    onClose();
  });
  return (
    <FormDialog title={question} send={label} isDangerous form={form} fields={new Set()} onClose={onClose}>
      <Text component="div">{children}</Text>
    </FormDialog>
  );
}
