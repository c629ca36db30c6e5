/** Changes what an advisory is about. */
import { useMutation } from "@connectrpc/connect-query";
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { AdvisoriesService, type Advisory } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
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
  const { uid: id, legacyAdvisoryId: legacyAdvisoryID } = advisory;
  const update = useMutation(Advisories.method.update);
  const readStored = useStored(AdvisoriesService.method.getAdvisory, { uid: id });
  const form = useForm(
    subjectFrom(advisory),
    async (subject) => {
      await update.mutateAsync({ ...advisoryFrom(subject), id, ...(legacyAdvisoryID !== undefined && { legacyAdvisoryID }) });
      onClose();
    },
    async () => subjectFrom(await readStored()),
  );
  return (
    <FormDialog title={`Edit ${advisory.advisoryId}`} send="Save" form={form} fields={subjectFields} onClose={onClose}>
      <SubjectFields form={form} />
    </FormDialog>
  );
}

function subjectFrom({ aliases, ...advisory }: Advisory): Subject {
  const { artifactType, artifactName, artifactArchitecture, componentName, componentType, componentLocation } = advisory;
  return { artifactType, artifactName, artifactArchitecture, componentName, componentType, componentLocation, aliases: aliases.join("\n") };
}
