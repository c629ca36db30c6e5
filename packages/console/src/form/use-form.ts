/** The state of a form: what was entered, whether it is saved, and what the API has found wrong with it. */
import { useBlocker } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { apiErrorFrom } from "../frame/errors.ts";

export interface Form<Values extends Readonly<Record<string, unknown>>> {
  readonly values: Values;
  readonly isDirty: boolean;
  readonly isSending: boolean;
  /** Error of the last attempt. */
  readonly error: unknown;
  /** The API's complaint about a field, by the name of the field in the contract. */
  violation(field: string): string | undefined;
  set<Name extends keyof Values>(name: Name, value: Values[Name]): void;
  send(): Promise<void>;
  /** Before leaving with unsaved input: what the person must decide. */
  readonly leaving: { readonly stay: () => void; readonly leave: () => void } | undefined;
}

/**
 * @param send resolves when the values are saved, optionally with a function that leaves the screen. Gets the names of the
 * values that differ from the first ones, too: somebody else may have changed the others meanwhile.
 */
export function useForm<Values extends Readonly<Record<string, unknown>>>(
  initial: Values,
  send: (values: Values, changed: readonly (keyof Values)[]) => Promise<unknown>,
): Form<Values> {
  // The first values: a caller may make others, which are not the same, each time it draws itself.
  const [saved] = useState(initial);
  const [values, setValues] = useState(initial);
  const [isSending, setSending] = useState(false);
  const [isSaved, setSaved] = useState(false);
  const [error, setError] = useState<unknown>();
  // Not a state: the screen may be left before the form is drawn again.
  const mayLeave = useRef(false);
  const changed = Object.keys(saved).filter((name) => values[name] !== saved[name]);
  const isDirty = !isSaved && changed.length > 0;
  const blocker = useBlocker({
    // Another order or filter on the same screen keeps the form.
    shouldBlockFn: ({ current, next }) => isDirty && !mayLeave.current && current.pathname !== next.pathname,
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  const fields = error === undefined ? [] : apiErrorFrom(error).fields;
  return {
    values,
    isDirty,
    isSending,
    error,
    violation: (field) => fields.find((violation) => violation.field === field)?.description,
    set: (name, value) => setValues((before) => ({ ...before, [name]: value })),
    leaving: blocker.status === "blocked" ? { stay: blocker.reset, leave: blocker.proceed } : undefined,
    async send() {
      setSending(true);
      setError(undefined);
      try {
        const leave = await send(values, changed);
        setSaved(true);
        mayLeave.current = true;
        if (typeof leave === "function") leave();
      } catch (thrown) {
        setError(thrown);
      } finally {
        setSending(false);
      }
    },
  };
}
