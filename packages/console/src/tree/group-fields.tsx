/** The fields of a group that people write, for the forms that create and change one. */
import { NameFields } from "../form/name-fields.tsx";
import type { Form } from "../form/use-form.ts";

export type GroupValues = { readonly name: string; readonly description: string };

/** Names of the fields in the contract. */
export const groupFields: ReadonlySet<string> = new Set(["name", "description"]);

export function GroupFields({ form: { values, set, violation } }: { readonly form: Form<GroupValues> }) {
  return <NameFields values={values} violation={violation} onChange={set} isLong />;
}
