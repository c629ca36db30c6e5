/** The fields of a name and a one-line description, which most resources have. */
import { TextInput } from "@mantine/core";

interface NameFieldsProps {
  readonly values: { readonly name?: string; readonly description?: string };
  readonly violation: (field: string) => string | undefined;
  readonly onChange: (field: "name" | "description", text: string) => void;
}

export function NameFields({ values, violation, onChange }: NameFieldsProps) {
  return (
    <>
      <TextInput
        label="Name"
        required
        data-autofocus
        value={values.name}
        error={violation("name")}
        onChange={({ currentTarget }) => onChange("name", currentTarget.value)}
      />
      <TextInput
        label="Description"
        value={values.description}
        error={violation("description")}
        onChange={({ currentTarget }) => onChange("description", currentTarget.value)}
      />
    </>
  );
}
