/** The image repositories of the organization, or of one group. */
import { CatalogTier, type Repo, RepoSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";

const columns: readonly Column<Repo>[] = [
  {
    id: "name",
    title: "Name",
    text: ({ name }) => name,
    cell: ({ uid, name }) => (
      <ScreenLink to="/repository" uid={uid}>
        <bdi>{name}</bdi>
      </ScreenLink>
    ),
    orderBy: "name",
  },
  { id: "description", title: "Description", text: ({ description }) => description },
  { id: "tier", title: "Tier", text: ({ catalogTier }) => tierText(catalogTier), isHidden: true },
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ group = "", name = "" }] = useSearchState();
  const uidp = group === "" ? { descendantsOf: organization } : { childrenOf: group };
  return (
    <>
      <ScreenTitle>Images</ScreenTitle>
      <List
        title="Image repositories"
        method={ReposService.method.listRepos}
        request={{ uidp, name }}
        itemsOf={({ repos }) => repos}
        schema={RepoSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/repository", uid), search: {} })}
        filters={[
          { kind: "text", id: "name", title: "Name", placeholder: "The whole name" },
          { kind: "group", id: "group", title: "Group" },
        ]}
        defaultOrder="name"
        empty={
          <Text>
            There are no image repositories yet. A push creates the first one: <code>docker push {location.host}/…</code>
          </Text>
        }
      />
    </>
  );
}

const tiers: Readonly<Record<CatalogTier, string>> = {
  [CatalogTier.UNSPECIFIED]: "",
  [CatalogTier.APPLICATION]: "application",
  [CatalogTier.BASE]: "base",
  [CatalogTier.FIPS]: "FIPS",
  [CatalogTier.AI]: "AI",
  [CatalogTier.DEVTOOLS]: "development tools",
  [CatalogTier.COMMERCIAL]: "commercial",
};

/** Empty for a tier that this version does not know. */
export function tierText(tier: CatalogTier): string {
  return tiers[tier] ?? "";
}
