/** Keeps the focus in the page when the element that has it goes away. */
import { useEffect, useState } from "react";

/** To be called by what takes the focus, such as a dialog. When it goes away, the element that had the focus gets it again. */
export function useFocusReturn(): void {
  const [opener] = useState(() => document.activeElement);
  useEffect(() => () => returnFocus(opener), [opener]);
}

/** Whether the element that had the focus has left the page. */
export function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Leaves the focus alone where something else has taken it, such as another dialog or a new screen. */
export function focusScreenIfLost(): void {
  returnFocus(null);
}

/** An opener that is gone is replaced by the screen. */
function returnFocus(opener: Element | null): void {
  if (!isFocusLost()) return;
  const isThere = opener instanceof HTMLElement && opener.isConnected && opener !== document.body;
  const target = isThere ? opener : document.getElementById("main");
  target?.focus({ preventScroll: true });
}
