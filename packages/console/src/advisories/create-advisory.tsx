/** Writes a new advisory, which begins with its detection. */
import { useMutation } from "@connectrpc/connect-query";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { type Form, useForm } from "../form/use-form.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { advisoryFrom, type Subject, SubjectFields, subjectFields } from "./subject-fields.tsx";

export function CreateAdvisoryButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={Advisories.method.create} uid={parent} size="xs" onClick={open}>
        New advisory
      </ActionButton>
      {isOpen && <CreateAdvisoryDialog parent={parent} onClose={close} />}
    </>
  );
}

const EMPTY = {
  artifactType: "",
  artifactName: "",
  artifactArchitecture: "",
  componentName: "",
  componentType: "",
  componentLocation: "",
  aliases: "",
};
const fields: ReadonlySet<string> = new Set([...subjectFields, "parent_id"]);

function CreateAdvisoryDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const create = useMutation(Advisories.method.create);
  const form = useForm({ ...EMPTY, parent }, async ({ parent: parentId, ...subject }) => {
    const detection = { type: { case: "detection", value: { type: { case: "manual", value: {} } } } } as const;
    const { id } = await create.mutateAsync({ parentId, advisory: { ...advisoryFrom(subject), events: [detection] } });
    return () => void navigate({ to: screenPath(organization, "/advisory", id), search: {} });
  });
  return (
    <FormDialog title="New advisory" send="Create" form={form} fields={fields} onClose={onClose}>
      <SubjectFields form={form as unknown as Form<Subject>} />
      <GroupField value={form.values.parent} error={form.violation("parent_id")} onChange={(uid) => form.set("parent", uid)} />
    </FormDialog>
  );
}
