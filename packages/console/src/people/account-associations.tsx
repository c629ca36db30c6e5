/** The accounts at cloud providers that groups of the organization belong to. */
import { useMutation } from "@connectrpc/connect-query";
import {
  type AccountAssociation,
  AccountAssociationSchema,
  AccountAssociationsService,
  AccountProviderType,
  CheckStatus,
} from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { Button, Group, Text } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { useDelete } from "../object/use-delete.ts";
import { CreateAssociationButton, EditAssociationButton } from "./edit-account-association.tsx";

const columns: readonly Column<AccountAssociation>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/group" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "amazon", title: "AWS account", text: ({ amazon }) => amazon?.account ?? "" },
  { id: "google", title: "Google project", text: ({ google }) => google?.projectId ?? "" },
  { id: "azure", title: "Azure tenant", text: ({ azure }) => azure?.tenantId ?? "" },
  { id: "check", title: "Check", text: () => "", cell: (association) => <Checks association={association} /> },
  { id: "uid", title: "uid of the group", text: ({ uid }) => uid, isHidden: true },
  { id: "edit", title: "Change", text: () => "", cell: (association) => <EditAssociationButton association={association} /> },
  { id: "delete", title: "Deletion", text: () => "", cell: (association) => <DeleteButton association={association} /> },
];

export function Screen() {
  const organization = useOrganization();
  return (
    <>
      <ScreenTitle>Cloud accounts</ScreenTitle>
      <List
        title="Cloud accounts"
        method={AccountAssociationsService.method.listAccountAssociations}
        // The row of the organization itself is among those below it.
        request={{ uidp: { descendantsOf: organization } }}
        itemsOf={({ accountAssociations }) => accountAssociations}
        schema={AccountAssociationSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        empty={<Text>No group has an account at a cloud provider. “New cloud account” ties one to a group.</Text>}
        actions={<CreateAssociationButton organization={organization} />}
      />
    </>
  );
}

function Checks({ association: { uid, amazon, google, azure } }: { readonly association: AccountAssociation }) {
  return (
    <Group gap="xs">
      {amazon !== undefined && <CheckButton uid={uid} provider={AccountProviderType.AMAZON} label="AWS" />}
      {google !== undefined && <CheckButton uid={uid} provider={AccountProviderType.GOOGLE} label="Google" />}
      {azure !== undefined && <CheckButton uid={uid} provider={AccountProviderType.AZURE} label="Azure" />}
    </Group>
  );
}

interface CheckButtonProps {
  readonly uid: string;
  readonly provider: AccountProviderType;
  readonly label: string;
}

function CheckButton({ uid, provider, label }: CheckButtonProps) {
  const check = useMutation(AccountAssociationsService.method.checkAccountAssociation);
  const { data, error, isPending } = check;
  return (
    <div>
      <Button
        variant="default"
        size="compact-xs"
        loading={isPending}
        onClick={() => check.mutate({ uid, providerType: provider })}
        aria-label={`Check ${label}`}
      >
        {label}
      </Button>
      {data !== undefined && (
        <Text size="xs" role="status">
          {data.status === CheckStatus.READY ? "works" : <bdi>{[data.reason, data.message].filter((text) => text !== "").join(": ")}</bdi>}
        </Text>
      )}
      {error !== null && (
        <Text size="xs" role="alert">
          {error.message}
        </Text>
      )}
    </div>
  );
}

function DeleteButton({ association: { uid, name } }: { readonly association: AccountAssociation }) {
  const remove = useDelete(AccountAssociationsService.method.deleteAccountAssociation);
  return (
    <ConfirmButton
      label="Delete"
      question={`Delete ${name}?`}
      method={AccountAssociationsService.method.deleteAccountAssociation}
      uid={uid}
      isCompact
      run={() => remove({ uid }, async () => {})}
    >
      The accounts themselves stay as they are.
    </ConfirmButton>
  );
}
