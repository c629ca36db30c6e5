/** For how many days something is valid. */

import { create } from "@bufbuild/protobuf";
import { type Duration, DurationSchema } from "@bufbuild/protobuf/wkt";
import { TextInput } from "@mantine/core";

export interface DaysFieldProps {
  readonly value: string;
  readonly error?: string;
  readonly onChange: (days: string) => void;
}

export function DaysField({ value, error, onChange }: DaysFieldProps) {
  return (
    <TextInput
      label="Valid for days"
      type="number"
      min={1}
      max={365}
      required
      value={value}
      error={error}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

/** Zero, which the API refuses, if the text is not a number. */
export function daysFrom(text: string): Duration {
  return create(DurationSchema, { seconds: BigInt(Math.round((Number(text) || 0) * 86_400)) });
}
