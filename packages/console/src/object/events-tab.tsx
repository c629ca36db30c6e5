/** The events of a group and of everything below it, as they happen. */
import { toJsonString } from "@bufbuild/protobuf";
import { type Event, EventSchema } from "@holt/api/gen/holt/v1/events_pb.ts";
import { Anchor, Stack, Table, Text } from "@mantine/core";
import { useState } from "react";
import { Dialog } from "../frame/dialog.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { isPassing } from "../session/transport.ts";
import { CopyText } from "./copy-text.tsx";
import { useLiveEvents } from "./live-events.ts";
import { Time } from "./time.tsx";
import { WideTable } from "./wide-table.tsx";

const HOUR_MS = 3_600_000;
const MAX_EVENTS = 100;

export interface EventsTabProps {
  readonly group: string;
  /** Only events about this uid. */
  readonly subject?: string | undefined;
  /** Only events of these types, separated by commas. */
  readonly types?: string;
  /** Only events of the last hours; 24 by default. */
  readonly hours?: number;
}

export function EventsTab({ group, subject, types, hours = 24 }: EventsTabProps) {
  const { events, isCurrent, error } = useLiveEvents({ group, subject, types, pastMs: hours * HOUR_MS, maxEvents: MAX_EVENTS });
  const [shown, setShown] = useState<Event>();
  return (
    <Stack gap="xs">
      {error === undefined ? (
        <Text size="sm" c="dimmed" role="status">
          {isCurrent ? `The last ${hours} hours, at most ${MAX_EVENTS} events. New ones appear by themselves.` : "Reading the events…"}
        </Text>
      ) : (
        <ErrorAlert error={error} title={isPassing(error) ? "New events cannot be read now" : "The events cannot be shown"} />
      )}
      {error === undefined && events.length === 0 && (isCurrent ? <Text>Nothing has happened in this time.</Text> : <Loading />)}
      {events.length > 0 && (
        <WideTable title="Events">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Time</Table.Th>
              <Table.Th scope="col">Event</Table.Th>
              <Table.Th scope="col">Subject</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {events.map((event) => (
              <Table.Tr key={event.id}>
                <Table.Td>
                  <Time value={event.time} />
                </Table.Td>
                <Table.Td style={{ minWidth: "10rem", overflowWrap: "anywhere" }}>
                  <Anchor component="button" type="button" underline="always" ta="start" onClick={() => setShown(event)}>
                    {event.type}
                  </Anchor>
                </Table.Td>
                <Table.Td style={{ minWidth: "10rem", overflowWrap: "anywhere" }}>
                  <bdi>{event.subject}</bdi>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </WideTable>
      )}
      {shown !== undefined && (
        <Dialog onClose={() => setShown(undefined)} title="Event" size="xl">
          <CopyText label="the event" isBlock text={toJsonString(EventSchema, shown, { prettySpaces: 2 })} />
        </Dialog>
      )}
    </Stack>
  );
}
