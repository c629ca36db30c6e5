/** The invites of the organization, or of one group. */
import { useMutation } from "@connectrpc/connect-query";
import { type GroupInvite, GroupInviteSchema, GroupInvitesService } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { Text } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { CreateInviteButton } from "./create-invite.tsx";

const columns: readonly Column<GroupInvite>[] = [
  { id: "key", title: "Key", text: ({ keyId }) => keyId },
  { id: "role", title: "Role", text: ({ role, roleUid }) => role?.name || roleUid },
  { id: "email", title: "For", text: ({ email }) => email || "anyone with the link" },
  { id: "single", title: "Uses", text: ({ singleUse }) => (singleUse ? "once" : "several times") },
  timeColumn({ id: "expires", title: "Expires", time: ({ expirationTime }) => expirationTime }),
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, isHidden: true }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
  { id: "delete", title: "Deletion", text: () => "", cell: (invite) => <DeleteInviteButton invite={invite} /> },
];

export function Screen() {
  const organization = useOrganization();
  const [{ group = "" }] = useSearchState();
  return (
    <>
      <ScreenTitle>Invites</ScreenTitle>
      <List
        title="Invites"
        method={GroupInvitesService.method.listGroupInvites}
        request={{ uidp: group === "" ? { descendantsOf: organization } : { childrenOf: group } }}
        itemsOf={({ groupInvites }) => groupInvites}
        schema={GroupInviteSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        filters={[{ kind: "group", id: "group", title: "Group" }]}
        empty={<Text>Nobody is invited. “New invite” makes a link with which a person joins with a role.</Text>}
        actions={<CreateInviteButton parent={organization} />}
      />
    </>
  );
}

function DeleteInviteButton({ invite: { uid, keyId } }: { readonly invite: GroupInvite }) {
  const remove = useMutation(GroupInvitesService.method.deleteGroupInvite);
  return (
    <ConfirmButton
      label="Delete"
      question={`Delete the invite ${keyId}?`}
      method={GroupInvitesService.method.deleteGroupInvite}
      uid={uid}
      isCompact
      run={async () => void (await remove.mutateAsync({ uid }))}
    >
      Its link no longer works. People who have joined with it stay.
    </ConfirmButton>
  );
}
