/** One delivery of a webhook: the last request and response as they were sent. The address names the event. */
import { useQuery } from "@connectrpc/connect-query";
import { DeliveriesService, type DeliveryHeader, type GetDeliveryResponse } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { Stack, Text, Title } from "@mantine/core";
import { Dialog } from "../frame/dialog.tsx";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { Loading } from "../frame/loading.tsx";
import { CopyText } from "../object/copy-text.tsx";

export interface DeliveryDialogProps {
  /** Uid of the subscription. */
  readonly uid: string;
  readonly eventId: string;
  readonly onClose: () => void;
}

export function DeliveryDialog({ uid, eventId, onClose }: DeliveryDialogProps) {
  const { data, error, refetch } = useQuery(DeliveriesService.method.getDelivery, { uid, eventId });
  return (
    <Dialog onClose={onClose} title="Delivery" size="xl">
      {error !== null && <ErrorAlert error={error} title="The delivery cannot be shown" onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Loading />}
      {data !== undefined && <Exchange answer={data} />}
    </Dialog>
  );
}

function Exchange({ answer: { delivery, request, response } }: { readonly answer: GetDeliveryResponse }) {
  return (
    <Stack>
      <Title order={3} size="h5">
        Request
      </Title>
      {request === undefined ? (
        <Text>The event is not kept anymore.</Text>
      ) : (
        <CopyText label="the request" isBlock text={messageText(`POST ${request.url}`, request.headers, indented(request.body))} />
      )}
      {request !== undefined && request.sizeBytes > BigInt(new Blob([request.body]).size) && (
        <Text size="sm">The whole body has {request.sizeBytes.toLocaleString("en")} bytes.</Text>
      )}
      <Title order={3} size="h5">
        Response
      </Title>
      {response === undefined ? (
        <Text>
          <bdi>{delivery?.error === "" ? "There was none yet." : delivery?.error}</bdi>
        </Text>
      ) : (
        <CopyText label="the response" isBlock text={messageText(String(response.statusCode), response.headers, response.body)} />
      )}
      {response?.isTruncated && <Text size="sm">The body is longer. Its first 4 KiB are kept.</Text>}
      <Text size="sm" c="dimmed">
        Credentials are replaced by [removed].
      </Text>
    </Stack>
  );
}

function messageText(first: string, headers: readonly DeliveryHeader[], body: string): string {
  return [first, ...headers.map(({ name, value }) => `${name}: ${value}`), "", body].join("\n").trimEnd();
}

/** Unchanged if the text is not JSON, such as the beginning of a long body. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
