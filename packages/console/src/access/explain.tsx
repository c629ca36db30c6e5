/** Explains why an identity may do something at a group or a resource, or why not. The question is part of the address. */
import { useQuery } from "@connectrpc/connect-query";
import { AccessService } from "@holt/api/gen/holt/v1/access_pb.ts";
import { type Capability, CapabilitySchema } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { Group, Stack, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import { FilterBar } from "../list/filter-bar.tsx";
import type { Filter } from "../list/filters.ts";
import { enumValue } from "../object/enum-text.ts";
import { parentOf } from "../object/parent-of.ts";
import { nameOfCapability } from "../session/rights.ts";
import { Explanation } from "./explanation.tsx";

const fields: readonly Filter[] = [
  { kind: "identity", id: "identity", title: "Identity" },
  {
    kind: "choice",
    id: "capability",
    title: "Capability",
    placeholder: "Choose one",
    choices: CapabilitySchema.values
      .filter(({ number }) => number !== 0)
      .map(({ number }) => ({ value: String(number), title: nameOfCapability(number) }))
      .sort((a, b) => (a.title < b.title ? -1 : 1)),
  },
  { kind: "text", id: "uid", title: "Where", placeholder: "The organization, or a uid" },
];

export function Screen() {
  const [search, change] = useSearchState();
  const { identity = "", capability = "" } = search;
  return (
    <Stack>
      <ScreenTitle>Explain access</ScreenTitle>
      <Group align="flex-end" gap="sm">
        <FilterBar filters={fields} search={search} onChange={change} />
      </Group>
      {identity === "" || capability === "" ? (
        <Text>Choose an identity and a capability. The answer says which bindings decide.</Text>
      ) : (
        <Answer identity={identity} capability={enumValue(capability) as Capability} />
      )}
    </Stack>
  );
}

function Answer({ identity, capability }: { readonly identity: string; readonly capability: Capability }) {
  const organization = useOrganization();
  const [{ uid = organization }] = useSearchState();
  // A resource has no bindings of its own: its group has.
  const groups = useQuery(GroupsService.method.listGroups, { uidp: { ids: [uid, parentOf(uid)] } });
  const { data, error } = useQuery(AccessService.method.explainAccess, { uid, identityUid: identity, capability });
  if (error !== null) return <ErrorAlert error={error} title="This cannot be explained" />;
  if (data === undefined) return <Loading />;
  const [group = organization] = (groups.data?.groups ?? []).map((each) => each.uid).sort((a, b) => b.length - a.length);
  return <Explanation answer={data} identity={identity} capability={nameOfCapability(capability)} group={group} />;
}
