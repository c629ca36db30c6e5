/** The events of the organization or of one group as they happen, with filters. */
import { Group } from "@mantine/core";
import { useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import { FilterBar } from "../list/filter-bar.tsx";
import type { Filter } from "../list/filters.ts";
import { EventsTab } from "../object/events-tab.tsx";

const filters: readonly Filter[] = [
  { kind: "text", id: "types", title: "Types", placeholder: "api.iam.*, registry.*" },
  { kind: "text", id: "subject", title: "Subject", placeholder: "uid of an object" },
  { kind: "group", id: "group", title: "Group" },
  {
    kind: "choice",
    id: "hours",
    title: "Since",
    placeholder: "24 hours ago",
    choices: [
      { value: "1", title: "an hour ago" },
      { value: "168", title: "7 days ago" },
    ],
  },
];
const DEFAULT_HOURS = 24;

export function Screen() {
  const organization = useOrganization();
  const [search, change] = useSearchState();
  const { types = "", subject, group, hours } = search;
  return (
    <>
      <ScreenTitle>Events</ScreenTitle>
      <Group align="flex-end" gap="sm" mb="sm">
        <FilterBar filters={filters} search={search} onChange={change} />
      </Group>
      <EventsTab group={group ?? organization} subject={subject} types={types} hours={Number(hours ?? DEFAULT_HOURS) || DEFAULT_HOURS} />
    </>
  );
}
