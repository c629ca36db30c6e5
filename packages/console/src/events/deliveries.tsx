/** The deliveries of a webhook, newest first, each with the answer of the sink. */
import { useMutation } from "@connectrpc/connect-query";
import {
  DeliveriesService,
  type Delivery,
  type Delivery_State,
  Delivery_StateSchema,
  DeliverySchema,
} from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { Stack, Text } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { enumChoices, enumText, enumValue } from "../object/enum-text.ts";
import { Time, timeText } from "../object/time.tsx";
import { DeliveryDialog } from "./delivery.tsx";
import { RedeliverRangeButton } from "./redeliver-range.tsx";

const eventColumn: Column<Delivery> = { id: "event", title: "Event", text: ({ eventType }) => eventType };
const columns: readonly Column<Delivery>[] = [
  timeColumn({ id: "time", title: "Time", time: ({ eventTime }) => eventTime }),
  { id: "state", title: "State", text: ({ state }) => enumText(Delivery_StateSchema, state) },
  { id: "answer", title: "Answer", text: answerText },
  { id: "attempts", title: "Attempts", text: ({ attempts }) => String(attempts) },
  {
    id: "next",
    title: "Next attempt",
    text: ({ nextAttemptTime }) => timeText(nextAttemptTime),
    cell: ({ nextAttemptTime }) => (nextAttemptTime === undefined ? "" : <Time value={nextAttemptTime} />),
    isHidden: true,
  },
  timeColumn({ id: "last", title: "Last attempt", time: ({ lastAttemptTime }) => lastAttemptTime, isHidden: true }),
  { id: "latency", title: "Duration", text: ({ latencyMs }) => `${latencyMs} ms`, isHidden: true },
  { id: "subject", title: "Subject", text: ({ subject }) => subject, isHidden: true },
  { id: "id", title: "Id of the event", text: ({ eventId }) => eventId, isHidden: true },
];

/** The status of the sink's answer, or the reason why there is none. */
function answerText({ statusCode, error }: Delivery): string {
  return [statusCode === 0 ? "" : String(statusCode), error].filter((part) => part !== "").join(": ");
}

/** A test event is published and sent a moment after the call. */
const REFRESH_MS = 2_000;

export function Deliveries({ uid }: { readonly uid: string }) {
  const [{ state, type = "", delivery: shown }, change] = useSearchState();
  const linkOf: Column<Delivery> = {
    ...eventColumn,
    cell: ({ eventId, eventType }) => (
      <ActionButton
        method={DeliveriesService.method.getDelivery}
        uid={uid}
        variant="subtle"
        size="compact-xs"
        onClick={() => change({ delivery: eventId })}
      >
        <bdi>{eventType}</bdi>
      </ActionButton>
    ),
  };
  const again = useMutation(DeliveriesService.method.redeliver);
  const actionsOf: Column<Delivery> = {
    id: "again",
    title: "Redelivery",
    text: () => "",
    cell: ({ eventId }) => (
      <RedeliverButton uid={uid} onClick={() => again.mutate({ uid, eventId })}>
        Send again
      </RedeliverButton>
    ),
  };
  return (
    <Stack>
      {again.error !== null && <ErrorAlert error={again.error} />}
      <List
        title="Deliveries"
        method={DeliveriesService.method.listDeliveries}
        request={{ uid, state: enumValue(state) as Delivery_State, types: type === "" ? [] : [type] }}
        itemsOf={({ deliveries }) => deliveries}
        schema={DeliverySchema}
        columns={[linkOf, ...columns, actionsOf]}
        keyOf={({ eventId }) => eventId}
        onOpen={({ eventId }) => change({ delivery: eventId })}
        filters={[
          { kind: "choice", id: "state", title: "State", choices: enumChoices(Delivery_StateSchema) },
          { kind: "text", id: "type", title: "Event", placeholder: "api.iam.*" },
        ]}
        empty={<Text>No event was sent yet. “Send a test event” tries whether the sink answers.</Text>}
        actions={<RedeliverRangeButton uid={uid} />}
        refreshMs={REFRESH_MS}
      />
      {shown !== undefined && <DeliveryDialog uid={uid} eventId={shown} onClose={() => change({ delivery: "" })} />}
    </Stack>
  );
}

interface RedeliverButtonProps {
  readonly uid: string;
  readonly onClick: () => void;
  readonly children: string;
}

function RedeliverButton({ uid, onClick, children }: RedeliverButtonProps) {
  return (
    <ActionButton method={DeliveriesService.method.redeliver} uid={uid} variant="default" size="compact-xs" onClick={onClick}>
      {children}
    </ActionButton>
  );
}
