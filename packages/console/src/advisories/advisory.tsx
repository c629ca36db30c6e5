/** One advisory: its events as a timeline with their review, what is published of it, and its subject. */
import { Advisories } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import {
  AdvisoriesService,
  type Advisory,
  type AdvisoryEvent,
  ReviewState,
  ReviewStateSchema,
} from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { Badge, Text, Timeline } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { Details } from "../object/details.tsx";
import { enumText } from "../object/enum-text.ts";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { Time, timeText } from "../object/time.tsx";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { GroupPath } from "../tree/group-path.tsx";
import { AddEventButton } from "./add-event.tsx";
import { EditAdvisoryButton } from "./edit-advisory.tsx";
import { eventLines, eventTitle } from "./event-text.ts";
import { Preview } from "./preview.tsx";
import { Review } from "./review.tsx";

export function Screen() {
  const uid = useObjectUid();
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(Advisories.method.delete);
  const { data: advisory, error, retry } = useObject(AdvisoriesService.method.getAdvisory, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The advisory cannot be shown" onRetry={retry} />;
  if (advisory === undefined) return <Loading />;
  const group = parentOf(uid);
  const leave = () => navigate({ to: screenPath(organization, "/advisories"), search: {} });
  return (
    <ObjectFrame
      kind="Advisory"
      name={`${advisory.advisoryId}: ${advisory.artifactName}`}
      uid={uid}
      method={AdvisoriesService.method.getAdvisory}
      path={<GroupPath uid={uid} />}
      actions={
        advisory.deleteTime === undefined && (
          <>
            <AddEventButton uid={uid} />
            <EditAdvisoryButton advisory={advisory} />
            <ConfirmButton
              label="Delete"
              question={`Delete the advisory ${advisory.advisoryId}?`}
              method={Advisories.method.delete}
              uid={uid}
              run={() => remove({ id: uid }, leave)}
            >
              Lists, documents and feeds omit it from then on.
            </ConfirmButton>
          </>
        )
      }
      tabs={[
        { id: "timeline", title: "Timeline", content: <EventTimeline advisory={advisory} /> },
        { id: "published", title: "Published", content: <Preview uid={uid} /> },
        { id: "details", title: "Details", content: <AdvisoryDetails advisory={advisory} /> },
        { id: "events", title: "Events", content: <EventsTab group={group} subject={uid} /> },
      ]}
    />
  );
}

/** Newest first. */
function EventTimeline({ advisory: { uid, events, createTime } }: { readonly advisory: Advisory }) {
  return (
    <Timeline active={-1} aria-label="Events of the advisory">
      {events.toReversed().map((event) => (
        <Timeline.Item key={event.uid} title={<bdi>{eventTitle(event)}</bdi>}>
          <EventBody uid={uid} event={event} />
        </Timeline.Item>
      ))}
      <Timeline.Item title="Written">
        <Time value={createTime} />
      </Timeline.Item>
    </Timeline>
  );
}

const COLORS: Readonly<Record<number, string>> = { [ReviewState.APPROVED]: "green", [ReviewState.REJECTED]: "red" };

function EventBody({ uid, event }: { readonly uid: string; readonly event: AdvisoryEvent }) {
  const { createTime, author, reviewer, reviewState } = event;
  return (
    <>
      <Badge variant="outline" color={COLORS[reviewState] ?? "gray"} styles={{ label: { color: "var(--mantine-color-text)" } }}>
        {enumText(ReviewStateSchema, reviewState)}
      </Badge>
      {eventLines(event).map((line) => (
        <Text key={line} size="sm">
          <bdi>{line}</bdi>
        </Text>
      ))}
      <Text size="sm" c="dimmed">
        <Time value={createTime} /> by <bdi>{author}</bdi>
        {reviewer !== "" && (
          <>
            , reviewed by <bdi>{reviewer}</bdi>
          </>
        )}
      </Text>
      <Review uid={uid} event={event} />
    </>
  );
}

function AdvisoryDetails({ advisory }: { readonly advisory: Advisory }) {
  const text = (value: string) => <bdi key={value}>{value}</bdi>;
  return (
    <Details
      rows={[
        ["Package", text(advisory.artifactName)],
        ["Package type", text(advisory.artifactType)],
        ["Architecture", text(advisory.artifactArchitecture)],
        ["Vulnerabilities", text(advisory.aliases.join(", "))],
        ["Component", text([advisory.componentName, advisory.componentType].filter((part) => part !== "").join(" · "))],
        ["Component path", text(advisory.componentLocation)],
        ["CVSS", text(advisory.severities.map(({ score }) => score).join(", "))],
        ["Author", text(advisory.author)],
        ["Older id", text(advisory.legacyAdvisoryId ?? "")],
        ["Changed", <Time key="changed" value={advisory.updateTime} />],
        ["Deleted", timeText(advisory.deleteTime) || "no"],
      ]}
    />
  );
}
