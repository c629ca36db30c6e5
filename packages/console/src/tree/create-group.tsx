/** Creates a group in another one. */
import { useMutation } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { GroupFields, groupFields } from "./group-fields.tsx";

export function CreateGroupButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={GroupsService.method.createGroup} uid={parent} onClick={open}>
        New group
      </ActionButton>
      {isOpen && <CreateGroupDialog parent={parent} onClose={close} />}
    </>
  );
}

function CreateGroupDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const create = useMutation(GroupsService.method.createGroup);
  const form = useForm({ name: "", description: "" }, async (group) => {
    await create.mutateAsync({ parent, group });
    onClose();
  });
  return (
    <FormDialog title="New group" send="Create" form={form} fields={groupFields} onClose={onClose}>
      <GroupFields form={form} />
    </FormDialog>
  );
}
