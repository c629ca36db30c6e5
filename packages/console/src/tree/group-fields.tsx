/** The fields of a group that people write, for the forms that create and change one. */
import { Textarea, TextInput } from "@mantine/core";
import type { Form } from "../form/use-form.ts";

export type GroupValues = { readonly name: string; readonly description: string };

/** Names of the fields in the contract. */
export const groupFields: ReadonlySet<string> = new Set(["name", "description"]);

export function GroupFields({ form }: { readonly form: Form<GroupValues> }) {
  const { values, set, violation } = form;
  return (
    <>
      <TextInput
        label="Name"
        required
        data-autofocus
        value={values.name}
        error={violation("name")}
        onChange={({ currentTarget }) => set("name", currentTarget.value)}
      />
      <Textarea
        label="Description"
        autosize
        minRows={2}
        value={values.description}
        error={violation("description")}
        onChange={({ currentTarget }) => set("description", currentTarget.value)}
      />
    </>
  );
}
