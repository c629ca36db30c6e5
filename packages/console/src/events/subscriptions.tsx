/** The webhooks of the organization, or of one group. */
import { useQuery } from "@connectrpc/connect-query";
import { DeliveriesService, SubscriptionStatus_StateSchema } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { type Subscription, SubscriptionSchema, SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { enumText } from "../object/enum-text.ts";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { CreateSubscriptionButton } from "./create-subscription.tsx";

const columns: readonly Column<Subscription>[] = [
  {
    id: "sink",
    title: "Sink",
    text: ({ sink }) => sink,
    cell: ({ uid, sink }) => (
      <ScreenLink to="/subscription" uid={uid}>
        <bdi>{sink}</bdi>
      </ScreenLink>
    ),
  },
  { id: "state", title: "State", text: () => "", cell: ({ uid }) => <State uid={uid} /> },
  { id: "group", title: "uid of the group", text: ({ uid }) => parentOf(uid), isHidden: true },
  { id: "uid", title: "uid", text: ({ uid }) => uid, isHidden: true },
];

/** Read for the visible rows only, because each is a call. */
function State({ uid }: { readonly uid: string }) {
  const { data } = useQuery(DeliveriesService.method.getSubscriptionStatus, { uid });
  if (data === undefined) return null;
  return (
    <>
      {enumText(SubscriptionStatus_StateSchema, data.state)}
      {data.failingSince !== undefined && (
        <>
          , first failed <Time value={data.failingSince} />
        </>
      )}
    </>
  );
}

export function Screen() {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ group = "" }] = useSearchState();
  return (
    <>
      <ScreenTitle>Webhooks</ScreenTitle>
      <List
        title="Webhooks"
        method={SubscriptionsService.method.listSubscriptions}
        request={{ uidp: group === "" ? { descendantsOf: organization } : { childrenOf: group } }}
        itemsOf={({ subscriptions }) => subscriptions}
        schema={SubscriptionSchema}
        columns={columns}
        keyOf={({ uid }) => uid}
        onOpen={({ uid }) => void navigate({ to: screenPath(organization, "/subscription", uid), search: {} })}
        filters={[{ kind: "group", id: "group", title: "Group" }]}
        empty={<Text>No events are sent anywhere yet. “New webhook” sends the events of a group to an address.</Text>}
        actions={<CreateSubscriptionButton parent={organization} />}
      />
    </>
  );
}
