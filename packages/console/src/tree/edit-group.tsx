/** Changes the name and the description of a group. */
import { useMutation } from "@connectrpc/connect-query";
import { type Group, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
import { ActionButton } from "../object/action-button.tsx";
import { GroupFields, type GroupValues, groupFields } from "./group-fields.tsx";

export function EditGroupButton({ group }: { readonly group: Group }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={GroupsService.method.updateGroup} uid={group.uid} variant="default" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <EditGroupDialog group={group} onClose={close} />}
    </>
  );
}

function EditGroupDialog({ group, onClose }: { readonly group: Group; readonly onClose: () => void }) {
  const update = useMutation(GroupsService.method.updateGroup);
  const { uid, name } = group;
  const readStored = useStored(GroupsService.method.getGroup, { uid });
  const form = useForm(
    valuesFrom(group),
    async (values, changed) => {
      if (changed.length > 0) await update.mutateAsync({ group: { uid, ...values }, updateMask: { paths: [...changed] } });
      onClose();
    },
    async () => valuesFrom(await readStored()),
  );
  return (
    <FormDialog title={`Edit ${name}`} send="Save" form={form} fields={groupFields} onClose={onClose}>
      <GroupFields form={form} />
    </FormDialog>
  );
}

function valuesFrom({ name, description }: Group): GroupValues {
  return { name, description };
}
