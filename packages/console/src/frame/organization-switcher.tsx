/** Shows the organization of the address, and leads to the person's other ones. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Button, Menu } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import classes from "./layout.module.css";
import { useOrganization } from "./organization.ts";
import { useOrganizationName } from "./organization-name.ts";

/** As many as one page of the API has; the start page lists all. */
const MAX_LISTED = 20;

export function OrganizationSwitcher() {
  const uid = useOrganization();
  const { data } = useQuery(GroupsService.method.listGroups, { uidp: { inRoot: true }, pageSize: MAX_LISTED, orderBy: "name" });
  const name = useOrganizationName();
  return (
    <Menu position="bottom-start" shadow="md">
      <Menu.Target>
        <Button variant="subtle" size="sm" aria-label={`Organization ${name}`} className={classes.organization}>
          <bdi className={classes.organizationName}>{name}</bdi>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="70vh">
        <Menu.Label>Organizations</Menu.Label>
        {data?.groups.map((group) => (
          <Menu.Item
            key={group.uid}
            aria-current={group.uid === uid}
            renderRoot={(props) => <Link {...props} to={`/${group.uid}`} search={{}} />}
          >
            <bdi>{group.name}</bdi>
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item renderRoot={(props) => <Link {...props} to="/" search={{ all: "1" }} />}>All organizations</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
