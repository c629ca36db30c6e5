/** The state of a form: what was entered, whether it is saved, and what the API has found wrong with it. */
import { useBlocker } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { apiErrorFrom } from "../frame/errors.ts";
import { changedNames, type Overtaken, rebase } from "./overtaken.ts";

export interface Form<Values extends Readonly<Record<string, unknown>>> {
  readonly values: Values;
  readonly isDirty: boolean;
  readonly isSending: boolean;
  /** Error of the last attempt. */
  readonly error: unknown;
  /** Values that somebody else has changed as well. If there are any, the last attempt stopped for this reason. */
  readonly overtaken: readonly Overtaken[];
  /** The API's complaint about a field, by the name of the field in the contract. */
  violation(field: string): string | undefined;
  set<Name extends keyof Values>(name: Name, value: Values[Name]): void;
  send(): Promise<void>;
  /** Before leaving with unsaved input: what the person must decide. */
  readonly leaving: { readonly stay: () => void; readonly leave: () => void } | undefined;
}

/**
 * @param send resolves when the values are saved, optionally with a function that leaves the screen. Gets the names of the
 * values that differ from the stored ones, too.
 * @param readStored for a form that changes an object: reads its values again before they are saved. What somebody else
 * has changed meanwhile stays, or the person has to decide.
 */
export function useForm<Values extends Readonly<Record<string, unknown>>>(
  initial: Values,
  send: (values: Values, changed: readonly (keyof Values & string)[]) => Promise<unknown>,
  readStored?: () => Promise<Values>,
): Form<Values> {
  // Keeps the values of the first render: a caller may pass a new object each time it renders.
  const [saved, setSavedValues] = useState(initial);
  const [values, setValues] = useState(initial);
  const [isSending, setSending] = useState(false);
  const [isSaved, setSaved] = useState(false);
  const [error, setError] = useState<unknown>();
  const [overtaken, setOvertaken] = useState<readonly Overtaken[]>([]);
  // A ref, not a state: the screen may be left before the form renders again.
  const mayLeave = useRef(false);
  const isDirty = !isSaved && changedNames(saved, values).length > 0;
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
    overtaken,
    violation: (field) => fields.find((violation) => violation.field === field)?.description,
    set: (name, value) => setValues((before) => ({ ...before, [name]: value })),
    leaving: blocker.status === "blocked" ? { stay: blocker.reset, leave: blocker.proceed } : undefined,
    async send() {
      setSending(true);
      setError(undefined);
      setOvertaken([]);
      try {
        const stored = readStored === undefined ? saved : await readStored();
        const rebased = rebase({ saved, values, stored });
        setSavedValues(stored);
        // The person may have typed on while the stored values were read.
        setValues((now) => rebase({ saved: values, values: now, stored: rebased.values }).values);
        setOvertaken(rebased.overtaken);
        if (rebased.overtaken.length > 0) return;
        const leave = await send(rebased.values, changedNames(stored, rebased.values));
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
