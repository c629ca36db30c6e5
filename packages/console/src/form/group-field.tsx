/** The group that a new object is created in: the organization, or a group below it. */
import { ObjectField } from "./object-field.tsx";

export interface GroupFieldProps {
  readonly value: string;
  readonly error?: string | undefined;
  readonly onChange: (uid: string) => void;
}

export function GroupField(props: GroupFieldProps) {
  return <ObjectField kind="group" label="Group" description="At first the organization" required {...props} />;
}
