/** A field for the kind of records that a file has. */
import { ImportKind, ImportKindSchema } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { Select } from "@mantine/core";
import { enumChoices } from "../object/enum-text.ts";

export interface KindFieldProps {
  readonly value: ImportKind;
  readonly error: string | undefined;
  readonly onChange: (kind: ImportKind) => void;
}

export function KindField({ value, error, onChange }: KindFieldProps) {
  return (
    <Select
      label="Records"
      description="Records of vulnerability databases are for all organizations, and for the operator of the server only"
      data={enumChoices(ImportKindSchema).map((choice) => ({ value: choice.value, label: choice.title }))}
      value={String(value)}
      error={error}
      onChange={(kind) => onChange(Number(kind ?? ImportKind.ADVISORIES) as ImportKind)}
    />
  );
}
