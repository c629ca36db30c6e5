/** A dialog that is drawn while it is open. When it closes, the focus returns to the element that opened it. */
import { Modal, type ModalProps } from "@mantine/core";
import { useEffect, useState } from "react";

export function Dialog(props: Omit<ModalProps, "opened">) {
  const [opener] = useState(() => document.activeElement);
  useEffect(() => () => returnFocus(opener), [opener]);
  return <Modal {...props} opened closeButtonProps={{ "aria-label": "Close" }} />;
}

/** Leaves the focus alone where another dialog or a new screen has taken it. An opener that is gone is replaced by the screen. */
function returnFocus(opener: Element | null): void {
  if (document.activeElement !== null && document.activeElement !== document.body) return;
  const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
  const target = isThere ? opener : document.getElementById("main");
  target?.focus({ preventScroll: true });
}
