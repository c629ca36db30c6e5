/** The inputs of a proof. Each shows the complaints of the API about the fields of the contract that it decides. */
import { Checkbox, Textarea, TextInput } from "@mantine/core";
import { apiErrorFrom } from "../frame/errors.ts";
import type { ProofField, Values } from "./identity-kinds.ts";

export interface ProofFieldsProps {
  readonly fields: readonly ProofField[];
  readonly values: Values;
  /** Error of the last attempt to save. */
  readonly error: unknown;
  readonly onChange: (name: string, value: string) => void;
}

export function ProofFields({ fields, values, error, onChange }: ProofFieldsProps) {
  return fields.map((field) => {
    const { name, label, description, placeholder, type = "text", isRequired = false } = field;
    const value = values[name] ?? "";
    if (type === "check")
      return (
        <Checkbox
          key={name}
          label={label}
          checked={value === "yes"}
          onChange={({ currentTarget }) => onChange(name, currentTarget.checked ? "yes" : "")}
        />
      );
    const shared = { label, description, placeholder, required: isRequired, value, error: complaintOf(field, error) };
    if (type === "lines")
      return (
        <Textarea
          key={name}
          {...shared}
          autosize
          minRows={2}
          maxRows={12}
          onChange={({ currentTarget }) => onChange(name, currentTarget.value)}
        />
      );
    return <TextInput key={name} {...shared} onChange={({ currentTarget }) => onChange(name, currentTarget.value.trim())} />;
  });
}

/** The fields of the contract that the inputs show complaints about. */
export function decidedFields(fields: readonly ProofField[]): readonly string[] {
  return fields.flatMap(({ decides = [] }) => decides);
}

function complaintOf({ decides = [] }: ProofField, error: unknown): string | undefined {
  if (error === undefined) return undefined;
  const { fields } = apiErrorFrom(error);
  return fields.find(({ field }) => decides.some((name) => field === name || field.startsWith(`${name}.`)))?.description;
}
