/** Changes what an advisory is about. */
import { useMutation } from "@connectrpc/connect-query";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import type { Advisory } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { type Form, useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { advisoryFrom, type Subject, SubjectFields, subjectFields } from "./subject-fields.tsx";

export function EditAdvisoryButton({ advisory }: { readonly advisory: Advisory }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={Advisories.method.update} uid={advisory.uid} variant="default" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <EditAdvisoryDialog advisory={advisory} onClose={close} />}
    </>
  );
}

function EditAdvisoryDialog({ advisory, onClose }: { readonly advisory: Advisory; readonly onClose: () => void }) {
  const { uid: id, aliases, legacyAdvisoryId: legacyAdvisoryID } = advisory;
  const { artifactType, artifactName, artifactArchitecture, componentName, componentType, componentLocation } = advisory;
  const update = useMutation(Advisories.method.update);
  const initial = { artifactType, artifactName, artifactArchitecture, componentName, componentType, componentLocation };
  const form = useForm({ ...initial, aliases: aliases.join("\n") }, async (subject) => {
    await update.mutateAsync({ ...advisoryFrom(subject), id, ...(legacyAdvisoryID !== undefined && { legacyAdvisoryID }) });
    onClose();
  });
  return (
    <FormDialog title={`Edit ${advisory.advisoryId}`} send="Save" form={form} fields={subjectFields} onClose={onClose}>
      <SubjectFields form={form as unknown as Form<Subject>} />
    </FormDialog>
  );
}
