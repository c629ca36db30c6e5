/** Organizations in which the person has rights in some groups only, so that the list of organizations does not have them. */
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Anchor, Stack, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useRights } from "../session/rights.ts";

/** Characters of the first part of a uid. */
const ORGANIZATION_LENGTH = 40;

/** Names of the person's groups, by the uid of an organization that the person may not read as a whole. */
type GroupsByOrganization = ReadonlyMap<string, readonly string[]>;

/** @returns undefined while the rights of the person are not known */
export function usePartialOrganizations(): GroupsByOrganization | undefined {
  const { groups, may } = useRights();
  const organizationOf = (uid: string) => uid.slice(0, ORGANIZATION_LENGTH);
  const partial = groups?.filter(({ uid }) => uid !== "" && !may(GroupsService.method.getGroup, organizationOf(uid)));
  if (partial === undefined) return undefined;
  const byOrganization = Map.groupBy(partial, ({ uid }) => organizationOf(uid));
  return new Map([...byOrganization].map(([uid, held]) => [uid, [...new Set(held.map(({ name }) => name))]]));
}

export function PartialOrganizations({ organizations }: { readonly organizations: GroupsByOrganization }) {
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Organizations in which you see some groups
      </Title>
      <ul>
        {[...organizations].map(([uid, names]) => (
          <li key={uid}>
            <Anchor renderRoot={(props) => <Link {...props} to={`/${uid}`} search={{}} />}>
              <bdi>{names.join(", ")}</bdi>
            </Anchor>
          </li>
        ))}
      </ul>
    </Stack>
  );
}
