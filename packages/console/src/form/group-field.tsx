/** The group that a new object is created in: the organization, or a group below it. */
import { TextInput } from "@mantine/core";

export interface GroupFieldProps {
  readonly value: string;
  readonly error?: string;
  readonly onChange: (uid: string) => void;
}

export function GroupField({ value, error, onChange }: GroupFieldProps) {
  return (
    <TextInput
      label="Group"
      description="uid of the group; at first that of the organization"
      required
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value.trim())}
    />
  );
}
