/** Creates an invite, and shows its link once. */
import { useMutation } from "@connectrpc/connect-query";
import { type GroupInvite, GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { Checkbox, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { RoleField } from "../access/role-field.tsx";
import { DaysField, daysFrom } from "../form/days-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { CopyText } from "../object/copy-text.tsx";
import { SecretDialog } from "../object/secret-dialog.tsx";

const fields: ReadonlySet<string> = new Set(["parent", "role_uid", "email", "ttl"]);

export function CreateInviteButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [created, setCreated] = useState<GroupInvite>();
  return (
    <>
      <ActionButton method={GroupInvitesService.method.createGroupInvite} uid={parent} size="xs" onClick={open}>
        New invite
      </ActionButton>
      {isOpen && <CreateInviteDialog parent={parent} onCreated={setCreated} onClose={close} />}
      {created !== undefined && (
        <SecretDialog title="Link of the invite" onClose={() => setCreated(undefined)}>
          <CopyText isBlock label="link" text={`${location.origin}/oauth?invite=${encodeURIComponent(created.code)}`} />
        </SecretDialog>
      )}
    </>
  );
}

interface CreateInviteDialogProps {
  readonly parent: string;
  readonly onCreated: (invite: GroupInvite) => void;
  readonly onClose: () => void;
}

function CreateInviteDialog({ parent, onCreated, onClose }: CreateInviteDialogProps) {
  const create = useMutation(GroupInvitesService.method.createGroupInvite);
  const initial = { parent, roleUid: "", email: "", days: "7", singleUse: true };
  const form = useForm(initial, async ({ parent: group, days, ...invite }) => {
    onCreated(await create.mutateAsync({ parent: group, groupInvite: { ...invite, ttl: daysFrom(days) } }));
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="New invite" send="Create" form={form} fields={fields} onClose={onClose}>
      <RoleField group={values.parent} value={values.roleUid} error={violation("role_uid")} onChange={(uid) => set("roleUid", uid)} />
      <TextInput
        label="Email address"
        description="Only this person can accept; anyone with the link if empty"
        type="email"
        value={values.email}
        error={violation("email")}
        onChange={({ currentTarget }) => set("email", currentTarget.value.trim())}
      />
      <DaysField value={values.days} error={violation("ttl")} onChange={(days) => set("days", days)} />
      <Checkbox
        label="Ends when the first person joins"
        checked={values.singleUse}
        onChange={({ currentTarget }) => set("singleUse", currentTarget.checked)}
      />
      <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}
