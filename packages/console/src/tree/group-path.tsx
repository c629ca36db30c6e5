/** Links to the groups above an object. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Breadcrumbs } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";

export function GroupPath({ uid }: { readonly uid: string }) {
  const { data } = useQuery(GroupsService.method.listGroups, { uidp: { ancestorsOf: uid }, pageSize: 200 }, { enabled: uid !== "" });
  const above = [...(data?.groups ?? [])].sort((a, b) => a.uid.length - b.uid.length);
  if (above.length === 0) return null;
  return (
    <nav aria-label="Groups above">
      <Breadcrumbs style={{ flexWrap: "wrap" }}>
        {above.map((group) => (
          <ScreenLink key={group.uid} to="/group" uid={group.uid}>
            <bdi>{group.name}</bdi>
          </ScreenLink>
        ))}
      </Breadcrumbs>
    </nav>
  );
}
