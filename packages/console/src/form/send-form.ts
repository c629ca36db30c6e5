/** Sends a form when the person submits it. */
import type { FormEvent } from "react";

/**
 * A field that the browser cannot read, such as a date without a time, has an empty value, which can mean something else. The browser
 * then says what is missing, and nothing is sent.
 */
export function sendForm(event: FormEvent<HTMLFormElement>, form: { readonly send: () => Promise<void> }): void {
  event.preventDefault();
  const unreadable = [...event.currentTarget.elements].find((field) => field instanceof HTMLInputElement && field.validity.badInput);
  if (unreadable instanceof HTMLInputElement) unreadable.reportValidity();
  else void form.send();
}
