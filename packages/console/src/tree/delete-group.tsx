/** Deletes a group, and shows what is in the way. */
import { type Group, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { useDelete } from "../object/use-delete.ts";
import { GroupContents } from "./group-contents.tsx";

export interface DeleteGroupProps {
  readonly group: Group;
  /** Leads away from the screen of the group. */
  readonly onDeleted: () => Promise<void>;
}

export function DeleteGroupButton(props: DeleteGroupProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={GroupsService.method.deleteGroup} uid={props.group.uid} variant="outline" color="red" onClick={open}>
        Delete
      </ActionButton>
      {isOpen && <DeleteGroupDialog {...props} onClose={close} />}
    </>
  );
}

function DeleteGroupDialog({ group, onDeleted, onClose }: DeleteGroupProps & { readonly onClose: () => void }) {
  const remove = useDelete(GroupsService.method.deleteGroup);
  const { uid, name } = group;
  const form = useForm({}, () => remove({ uid }, onDeleted));
  return (
    <FormDialog title={`Delete ${name}?`} send="Delete" isDangerous form={form} fields={new Set()} onClose={onClose}>
      <Text>Its role bindings and invites go with it. This cannot be undone. A group that contains something is not deleted.</Text>
      <GroupContents group={uid} onLeave={onClose} />
    </FormDialog>
  );
}
