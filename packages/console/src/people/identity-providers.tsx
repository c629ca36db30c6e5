/** The identity providers of the organization. */
import {
  type IdentityProvider,
  IdentityProvider_SCIM_CredentialStateSchema,
  IdentityProviderSchema,
  IdentityProvidersService,
} from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { enumText } from "../object/enum-text.ts";
import { CreateProviderButton } from "./edit-identity-provider.tsx";

const columns: readonly Column<IdentityProvider>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/identity-provider" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "issuer", title: "Issuer", text: ({ configuration }) => configuration.value?.issuer ?? "" },
  { id: "scim", title: "SCIM", text: ({ scim }) => (scim?.enabled ? "on" : "off") },
  {
    id: "token",
    title: "SCIM token",
    text: ({ scim }) => enumText(IdentityProvider_SCIM_CredentialStateSchema, scim?.credentialState ?? 0),
    isHidden: true,
  },
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  return (
    <>
      <ScreenTitle>Identity providers</ScreenTitle>
      <List
        title="Identity providers"
        method={IdentityProvidersService.method.listIdentityProviders}
        request={{ uidp: { descendantsOf: organization } }}
        itemsOf={({ identityProviders }) => identityProviders}
        schema={IdentityProviderSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/identity-provider", uid), search: {} })}
        defaultOrder="name"
        empty={<Text>People sign in by the sign-in of this server only. “New identity provider” adds your organization's own.</Text>}
        actions={<CreateProviderButton organization={organization} />}
      />
    </>
  );
}
