/** Decides about an event, with a preview of what its approval publishes. */
import { useMutation } from "@connectrpc/connect-query";
import { Advisories, ReviewStatus } from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { type AdvisoryEvent, ReviewState } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { Group, Text } from "@mantine/core";
import { useState } from "react";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { eventTitle } from "./event-text.ts";
import { Preview } from "./preview.tsx";

interface Decision {
  readonly status: ReviewStatus;
  readonly label: string;
  readonly color: string;
  readonly consequence: string;
}

const DECISIONS: readonly Decision[] = [
  { status: ReviewStatus.APPROVED, label: "Approve", color: "green.9", consequence: "An approved event is published and final." },
  { status: ReviewStatus.REQUEST_CHANGES, label: "Request changes", color: "gray.7", consequence: "Its author can change it." },
  { status: ReviewStatus.REJECTED, label: "Reject", color: "red.9", consequence: "A rejected event is final and never published." },
];
const NEEDED = ["advisories.update", "advisories.approve"];
const NO_FIELDS: ReadonlySet<string> = new Set();

export interface ReviewProps {
  /** uid of the advisory. */
  readonly uid: string;
  readonly event: AdvisoryEvent;
}

export function Review({ uid, event }: ReviewProps) {
  const [decision, setDecision] = useState<Decision>();
  if (event.reviewState === ReviewState.APPROVED || event.reviewState === ReviewState.REJECTED) return null;
  const open = DECISIONS.filter(({ status }) => Number(status) !== Number(event.reviewState));
  return (
    <Group gap="xs" mt="xs">
      {open.map((each) => (
        <ActionButton
          key={each.label}
          capabilities={NEEDED}
          uid={uid}
          variant="default"
          size="compact-xs"
          onClick={() => setDecision(each)}
        >
          {each.label}
        </ActionButton>
      ))}
      {decision !== undefined && <ReviewDialog uid={uid} event={event} decision={decision} onClose={() => setDecision(undefined)} />}
    </Group>
  );
}

interface ReviewDialogProps extends ReviewProps {
  readonly decision: Decision;
  readonly onClose: () => void;
}

function ReviewDialog({ uid, event, decision, onClose }: ReviewDialogProps) {
  const { status, label, consequence } = decision;
  const update = useMutation(Advisories.method.updateAdvisoryEvent);
  const form = useForm({}, async () => {
    await update.mutateAsync({ id: event.uid, status });
    onClose();
  });
  const isApproval = status === ReviewStatus.APPROVED;
  return (
    <FormDialog
      title={`${label}: ${eventTitle(event)}`}
      send={label}
      size={isApproval ? "xl" : undefined}
      form={form}
      fields={NO_FIELDS}
      onClose={onClose}
    >
      <Text>{consequence}</Text>
      {isApproval && <Preview uid={uid} eventUids={[event.uid]} />}
    </FormDialog>
  );
}
