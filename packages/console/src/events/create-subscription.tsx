/** Creates a webhook for the events of a group. */
import { useMutation } from "@connectrpc/connect-query";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";

const fields: ReadonlySet<string> = new Set(["sink", "parent"]);

export function CreateSubscriptionButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={SubscriptionsService.method.createSubscription} uid={parent} size="xs" onClick={open}>
        New webhook
      </ActionButton>
      {isOpen && <CreateSubscriptionDialog parent={parent} onClose={close} />}
    </>
  );
}

function CreateSubscriptionDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const create = useMutation(SubscriptionsService.method.createSubscription);
  const form = useForm({ sink: "", parent }, async (values) => {
    await create.mutateAsync({ parent: values.parent, subscription: { sink: values.sink } });
    onClose();
  });
  return (
    <FormDialog title="New webhook" send="Create" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Sink"
        description="The https address that receives the events"
        required
        data-autofocus
        value={form.values.sink}
        error={form.violation("sink")}
        onChange={({ currentTarget }) => form.set("sink", currentTarget.value.trim())}
      />
      <GroupField value={form.values.parent} error={form.violation("parent")} onChange={(uid) => form.set("parent", uid)} />
    </FormDialog>
  );
}
