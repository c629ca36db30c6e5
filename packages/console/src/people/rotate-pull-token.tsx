/** Replaces the password of a pull token. */
import { useMutation } from "@connectrpc/connect-query";
import { type PullToken, PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { DaysField, daysFrom } from "../form/days-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { useRights } from "../session/rights.ts";

const fields: ReadonlySet<string> = new Set(["ttl", "overlap"]);

export interface RotatePullTokenProps {
  readonly token: PullToken;
  /** Gets the token with its new password. The button may be gone by then: its row moves in the list. */
  readonly onRotated: (token: PullToken) => void;
}

export function RotatePullTokenButton({ token, onRotated }: RotatePullTokenProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const person = useRights().uid;
  return (
    <>
      <ActionButton
        method={PullTokensService.method.rotatePullToken}
        uid={token.uid}
        isOwn={token.creator === person && !token.independent}
        variant="default"
        size="compact-xs"
        onClick={open}
      >
        New password
      </ActionButton>
      {isOpen && <RotateDialog token={token} onRotated={onRotated} onClose={close} />}
    </>
  );
}

interface RotateDialogProps extends RotatePullTokenProps {
  readonly onClose: () => void;
}

function RotateDialog({ token: { uid, name }, onRotated, onClose }: RotateDialogProps) {
  const rotate = useMutation(PullTokensService.method.rotatePullToken);
  const form = useForm({ days: "30", overlap: "1" }, async ({ days, overlap }) => {
    onRotated(await rotate.mutateAsync({ uid, ttl: daysFrom(days), overlap: daysFrom(overlap) }));
    onClose();
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title={`New password of ${name}`} send="Replace the password" form={form} fields={fields} onClose={onClose}>
      <DaysField value={values.days} error={violation("ttl")} onChange={(days) => set("days", days)} />
      <TextInput
        label="The old password works for days"
        description="So that machines can be changed one after the other; at most 30"
        type="number"
        min={0}
        max={30}
        value={values.overlap}
        error={violation("overlap")}
        onChange={({ currentTarget }) => set("overlap", currentTarget.value)}
      />
    </FormDialog>
  );
}
