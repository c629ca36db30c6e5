/** A dialog that is drawn while it is open. When it closes, the focus returns to the element that opened it. */
import { Modal, type ModalProps } from "@mantine/core";
import { useFocusReturn } from "./focus-return.ts";

export function Dialog(props: Omit<ModalProps, "opened">) {
  useFocusReturn();
  return <Modal {...props} opened closeButtonProps={{ "aria-label": "Close" }} />;
}
