/** Sends the events that were given up since a time again. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { DeliveriesService } from "@holt/api/gen/holt/v1/deliveries_pb.ts";
import { Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";

const fields: ReadonlySet<string> = new Set(["failed_since"]);

export function RedeliverRangeButton({ uid }: { readonly uid: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [count, setCount] = useState<bigint>();
  return (
    <>
      <ActionButton method={DeliveriesService.method.redeliver} uid={uid} variant="default" size="xs" onClick={open}>
        Send failed again
      </ActionButton>
      {count !== undefined && (
        <Text size="sm" role="status">
          {count.toLocaleString("en")} will be sent again
        </Text>
      )}
      {isOpen && <RedeliverRangeDialog uid={uid} onDone={setCount} onClose={close} />}
    </>
  );
}

interface RedeliverRangeDialogProps {
  readonly uid: string;
  readonly onDone: (count: bigint) => void;
  readonly onClose: () => void;
}

function RedeliverRangeDialog({ uid, onDone, onClose }: RedeliverRangeDialogProps) {
  const again = useMutation(DeliveriesService.method.redeliver);
  const form = useForm({ since: "" }, async ({ since }) => {
    // The field has no time zone.
    const failedSince = timestampFromDate(since === "" ? new Date(0) : new Date(`${since}Z`));
    onDone((await again.mutateAsync({ uid, failedSince })).count);
    onClose();
  });
  return (
    <FormDialog title="Send failed events again" send="Send" form={form} fields={fields} onClose={onClose}>
      <TextInput
        type="datetime-local"
        label="Events since (UTC)"
        description="All that were given up if empty"
        data-autofocus
        value={form.values.since}
        error={form.violation("failed_since")}
        onChange={({ currentTarget }) => form.set("since", currentTarget.value)}
      />
    </FormDialog>
  );
}
