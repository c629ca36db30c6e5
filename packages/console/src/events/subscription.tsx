/** One webhook: whether events reach it, and each of its deliveries. */
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { DeliveriesService, SubscriptionStatus_State } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { SubscriptionSettingsService } from "@holt/api/gen/holt/v1/subscriptions_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { Stack } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { screenPath, useObjectUid, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { ConfirmButton } from "../object/confirm-button.tsx";
import { EventsTab } from "../object/events-tab.tsx";
import { ObjectFrame } from "../object/object.tsx";
import { parentOf } from "../object/parent-of.ts";
import { useDelete } from "../object/use-delete.ts";
import { useObject } from "../object/use-object.ts";
import { GroupPath } from "../tree/group-path.tsx";
import { Deliveries } from "./deliveries.tsx";
import { SubscriptionHealth } from "./subscription-health.tsx";

export function Screen() {
  const uid = useObjectUid();
  const { data: subscription, error, retry } = useObject(SubscriptionSettingsService.method.getSubscription, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The webhook cannot be shown" onRetry={retry} />;
  if (subscription === undefined) return <Loading />;
  return (
    <ObjectFrame
      kind="Webhook"
      name={subscription.sink}
      uid={uid}
      method={SubscriptionSettingsService.method.getSubscription}
      path={<GroupPath uid={uid} />}
      actions={<Actions uid={uid} sink={subscription.sink} />}
      tabs={[
        { id: "deliveries", title: "Deliveries", content: <Deliveries uid={uid} /> },
        { id: "health", title: "Health", content: <SubscriptionHealth uid={uid} types={subscription.types} /> },
        { id: "events", title: "Events", content: <EventsTab group={parentOf(uid)} subject={uid} /> },
      ]}
    />
  );
}

function Actions({ uid, sink }: { readonly uid: string; readonly sink: string }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const remove = useDelete(SubscriptionsService.method.deleteSubscription);
  const test = useMutation(DeliveriesService.method.sendTestEvent);
  const resume = useMutation(DeliveriesService.method.resumeSubscription);
  const { data: status } = useQuery(DeliveriesService.method.getSubscriptionStatus, { uid });
  const isPaused = status?.state === SubscriptionStatus_State.PAUSED;
  const error = test.error ?? resume.error;
  return (
    <Stack gap="xs">
      <div style={{ display: "flex", flexWrap: "wrap", gap: "var(--mantine-spacing-xs)" }}>
        <ActionButton
          method={DeliveriesService.method.sendTestEvent}
          uid={uid}
          variant="default"
          loading={test.isPending}
          onClick={() => test.mutate({ uid })}
        >
          Send a test event
        </ActionButton>
        {isPaused && (
          <ActionButton
            method={DeliveriesService.method.resumeSubscription}
            uid={uid}
            loading={resume.isPending}
            onClick={() => resume.mutate({ uid })}
          >
            Resume
          </ActionButton>
        )}
        <ConfirmButton
          label="Delete"
          question={`Delete the webhook ${sink}?`}
          method={SubscriptionsService.method.deleteSubscription}
          uid={uid}
          run={() => remove({ uid }, () => navigate({ to: screenPath(organization, "/subscriptions"), search: {} }))}
        >
          Events that wait for their delivery are dropped.
        </ConfirmButton>
      </div>
      {error !== null && <ErrorAlert error={error} />}
    </Stack>
  );
}
