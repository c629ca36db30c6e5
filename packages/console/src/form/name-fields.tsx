/** The fields of a name and a description, which most resources have. */
import { Textarea, TextInput } from "@mantine/core";

/** The rule of the API for names, which its errors give as a pattern. */
export const NAME_RULE = "Lower-case letters, digits, spaces, dots, underscores and hyphens";

interface NameFieldsProps {
  readonly values: { readonly name?: string; readonly description?: string };
  readonly violation: (field: string) => string | undefined;
  readonly onChange: (field: "name" | "description", text: string) => void;
  /** Whether the description may have several lines. */
  readonly isLong?: boolean;
}

export function NameFields({ values, violation, onChange, isLong = false }: NameFieldsProps) {
  const description = {
    label: "Description",
    value: values.description,
    error: violation("description"),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange("description", currentTarget.value),
  };
  return (
    <>
      <TextInput
        label="Name"
        description={NAME_RULE}
        required
        data-autofocus
        value={values.name}
        error={violation("name")}
        onChange={({ currentTarget }) => onChange("name", currentTarget.value)}
      />
      {isLong ? <Textarea autosize minRows={2} {...description} /> : <TextInput {...description} />}
    </>
  );
}
