/** The identities of machines in the organization, or in one group, and when each was last seen. */
import type { RelationshipType } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentitiesService, type Identity, IdentitySchema, RelationshipTypeSchema } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { enumChoices, enumValue } from "../object/enum-text.ts";
import { proofText } from "./proof.ts";

const columns: readonly Column<Identity>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/identity" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "proof", title: "Proof", text: proofText },
  timeColumn({ id: "seen", title: "Last seen", time: ({ lastSeenTime }) => lastSeenTime }),
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time", isHidden: true }),
  { id: "description", title: "Description", text: ({ description }) => description, isHidden: true },
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ group = "", name = "", kind }] = useSearchState();
  const uidp = group === "" ? { descendantsOf: organization } : { childrenOf: group };
  return (
    <>
      <ScreenTitle>Identities</ScreenTitle>
      <List
        title="Identities"
        method={IdentitiesService.method.listIdentities}
        request={{ uidp, name, relationshipType: enumValue(kind) as RelationshipType }}
        itemsOf={({ identities }) => identities}
        schema={IdentitySchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/identity", uid), search: {} })}
        filters={[
          { kind: "text", id: "name", title: "Name", placeholder: "The whole name" },
          { kind: "group", id: "group", title: "Group" },
          { kind: "choice", id: "kind", title: "Proof", choices: enumChoices(RelationshipTypeSchema) },
        ]}
        defaultOrder="name"
        empty={<Text>No machine has an identity here yet. “New identity” gives one to a CI job, a cluster or a server.</Text>}
        actions={
          <ActionButton
            method={IdentitiesService.method.createIdentity}
            uid={group || organization}
            size="xs"
            onClick={() => void navigate({ to: screenPath(organization, "/new-identity"), search: group === "" ? {} : { group } })}
          >
            New identity
          </ActionButton>
        }
      />
    </>
  );
}
