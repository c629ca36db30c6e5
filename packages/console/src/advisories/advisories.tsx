/** The advisories of the organization or of one group, with every filter of the API. */
import {
  AdvisoriesService,
  type Advisory,
  AdvisorySchema,
  type EventTypeFilter,
  EventTypeFilterSchema,
  ReviewState,
  ReviewStateSchema,
} from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { type Search, useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import type { Filter } from "../list/filters.ts";
import { List } from "../list/list.tsx";
import { SavedFilters } from "../list/saved-filters.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { enumChoices, enumValue } from "../object/enum-text.ts";
import { CreateAdvisoryButton } from "./create-advisory.tsx";
import { eventTitle } from "./event-text.ts";

const columns: readonly Column<Advisory>[] = [
  {
    id: "id",
    title: "Advisory",
    text: ({ advisoryId }) => advisoryId,
    cell: ({ uid, advisoryId }) => (
      <ScreenLink to="/advisory" uid={uid}>
        <bdi>{advisoryId}</bdi>
      </ScreenLink>
    ),
  },
  { id: "package", title: "Package", text: ({ artifactName }) => artifactName },
  { id: "type", title: "Type", text: ({ artifactType }) => artifactType },
  { id: "aliases", title: "Vulnerability", text: ({ aliases }) => aliases.join(", ") },
  { id: "latest", title: "Published state", text: latestText },
  { id: "pending", title: "To review", text: pendingText },
  { id: "architecture", title: "Architecture", text: ({ artifactArchitecture }) => artifactArchitecture, isHidden: true },
  { id: "component", title: "Component", text: ({ componentName }) => componentName, isHidden: true },
  { id: "author", title: "Author", text: ({ author }) => author, isHidden: true },
  { id: "severity", title: "CVSS", text: ({ severities }) => severities.map(({ score }) => score).join(", "), isHidden: true },
  timeColumn({ id: "updated", title: "Changed", time: ({ updateTime }) => updateTime, orderBy: "update_time" }),
  timeColumn({ id: "created", title: "Created", time: ({ createTime }) => createTime, orderBy: "create_time", isHidden: true }),
];

function latestText({ events }: Advisory): string {
  const latest = events.findLast(({ reviewState }) => reviewState === ReviewState.APPROVED);
  return latest === undefined ? "not published" : eventTitle(latest);
}

function pendingText({ events }: Advisory): string {
  const count = events.filter(({ reviewState }) => reviewState === ReviewState.PENDING).length;
  return count === 0 ? "" : `${count} ${count === 1 ? "event" : "events"}`;
}

const states = enumChoices(ReviewStateSchema);
const types = enumChoices(EventTypeFilterSchema);
const SEVERAL = "Separated by commas";
const filters: readonly Filter[] = [
  { kind: "text", id: "query", title: "Search", placeholder: "Package or CVE" },
  { kind: "choice", id: "state", title: "Review", choices: states },
  { kind: "choice", id: "latest", title: "Published state", choices: types },
  { kind: "text", id: "alias", title: "Vulnerability", placeholder: "CVE-2026-0001" },
  { kind: "text", id: "artifact", title: "Package", placeholder: SEVERAL },
  { kind: "choice", id: "event", title: "Has an event", choices: types, isExtra: true },
  { kind: "text", id: "type", title: "Package type", placeholder: "apk, deb", isExtra: true },
  { kind: "text", id: "architecture", title: "Architecture", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "origin", title: "Source package", placeholder: "The whole name", isExtra: true },
  { kind: "text", id: "component", title: "Component", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "componentType", title: "Component type", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "location", title: "Component location", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "advisory", title: "Advisory id", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "legacy", title: "Older advisory id", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "author", title: "Event by author", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "notAuthor", title: "No event by author", placeholder: SEVERAL, isExtra: true },
  { kind: "text", id: "reviewer", title: "Reviewed by", placeholder: SEVERAL, isExtra: true },
  { kind: "group", id: "group", title: "Group", isExtra: true },
];

function requestOf(search: Search, organization: string) {
  const { group = "", origin = "", query = "" } = search;
  const state = enumValue(search.state);
  const latest = enumValue(search.latest);
  const event = enumValue(search.event);
  return {
    uidp: group === "" ? { descendantsOf: organization } : { childrenOf: group },
    query,
    ...(origin !== "" && { origin }),
    advisoryIds: values(search.advisory),
    legacyAdvisoryIds: values(search.legacy),
    artifactNames: values(search.artifact),
    artifactTypes: values(search.type),
    artifactArchitectures: values(search.architecture),
    componentNames: values(search.component),
    componentTypes: values(search.componentType),
    componentLocations: values(search.location),
    aliases: values(search.alias),
    eventReviewStates: state === 0 ? [] : [state as ReviewState],
    eventAuthors: values(search.author),
    excludeEventAuthors: values(search.notAuthor),
    eventReviewers: values(search.reviewer),
    eventTypes: event === 0 ? [] : [event as EventTypeFilter],
    ...(latest !== 0 && { latestEventType: latest as EventTypeFilter }),
  };
}

function values(text = ""): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [search] = useSearchState();
  return (
    <>
      <ScreenTitle>Advisories</ScreenTitle>
      <List
        title="Advisories"
        method={AdvisoriesService.method.listAdvisories}
        request={requestOf(search, organization)}
        itemsOf={({ advisories }) => advisories}
        schema={AdvisorySchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/advisory", uid), search: {} })}
        filters={filters}
        defaultOrder="update_time desc"
        empty={<Text>There are no advisories yet. “New advisory” writes one; imports and mirrors bring them from elsewhere.</Text>}
        actions={
          <>
            <SavedFilters list="advisories" filters={filters} />
            <CreateAdvisoryButton parent={organization} />
          </>
        }
      />
    </>
  );
}
