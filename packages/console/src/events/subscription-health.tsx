/** Whether the events of a webhook arrive, and what waits. */
import { useQuery } from "@connectrpc/connect-query";
import { DeliveriesService, SubscriptionStatus_StateSchema } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { Details } from "../object/details.tsx";
import { enumText } from "../object/enum-text.ts";
import { Time } from "../object/time.tsx";

export function SubscriptionHealth({ uid, types }: { readonly uid: string; readonly types: readonly string[] }) {
  const { data: status, error } = useQuery(DeliveriesService.method.getSubscriptionStatus, { uid });
  if (error !== null) return <ErrorAlert error={error} title="The health cannot be shown" />;
  if (status === undefined) return <Loading />;
  return (
    <Details
      rows={[
        ["State", enumText(SubscriptionStatus_StateSchema, status.state)],
        ["Event types", types.length === 0 ? "all" : <bdi key="types">{types.join(", ")}</bdi>],
        ["Waiting", status.pendingCount.toLocaleString("en")],
        ["Given up", status.failedCount.toLocaleString("en")],
        ["Failing since", <Time key="failing" value={status.failingSince} />],
        ["Next attempt", <Time key="next" value={status.nextAttemptTime} />],
        ["Paused", <Time key="paused" value={status.pauseTime} />],
        ["Reason", <bdi key="reason">{status.pauseReason}</bdi>],
      ]}
    />
  );
}
