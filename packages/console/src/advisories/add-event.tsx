/** Adds an event to an advisory. It is published once a reviewer has approved it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import {
  Advisories,
  type AdvisoryEvent_FalsePositiveDetermination_Type,
  type AdvisoryEventSchema,
  AdvisoryEvent_FalsePositiveDetermination_TypeSchema as FalsePositiveReasonSchema,
} from "@holt/api/gen/platform/vulnerabilities/v1/advisories_pb.ts";
import { Select, Textarea, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { type Form, useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { enumChoices } from "../object/enum-text.ts";
import { type EventKind, eventKinds } from "./event-text.ts";
import { linesOf } from "./subject-fields.tsx";

export function AddEventButton({ uid }: { readonly uid: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={Advisories.method.createAdvisoryEvent} uid={uid} onClick={open}>
        Add an event
      </ActionButton>
      {isOpen && <AddEventDialog uid={uid} onClose={close} />}
    </>
  );
}

const INITIAL = { kind: "fixed" as EventKind, version: "", versions: "", reason: "", note: "", issue: "" };
const fields: ReadonlySet<string> = new Set();

function AddEventDialog({ uid, onClose }: { readonly uid: string; readonly onClose: () => void }) {
  const add = useMutation(Advisories.method.createAdvisoryEvent);
  const form = useForm(INITIAL, async (values) => {
    const { issue } = values;
    await add.mutateAsync({ parentId: uid, advisoryEvent: { type: typeFrom(values), ...(issue !== "" && { issue }) } });
    onClose();
  });
  return (
    <FormDialog title="New event" send="Add" form={form} fields={fields} onClose={onClose}>
      <EventFields form={form} />
    </FormDialog>
  );
}

function EventFields({ form: { values, set } }: { readonly form: Form<typeof INITIAL> }) {
  return (
    <>
      <Select
        label="Finding"
        required
        data-autofocus
        data={Object.entries(eventKinds).map(([value, label]) => ({ value, label }))}
        value={values.kind}
        onChange={(kind) => set("kind", (kind ?? "fixed") as EventKind)}
      />
      {values.kind === "fixed" && (
        <TextInput
          label="Fixed version"
          required
          value={values.version}
          onChange={({ currentTarget }) => set("version", currentTarget.value)}
        />
      )}
      {values.kind === "patched" && (
        <Textarea
          label="Patched versions"
          description="One per line"
          required
          value={values.versions}
          onChange={({ currentTarget }) => set("versions", currentTarget.value)}
        />
      )}
      {values.kind === "falsePositiveDetermination" && (
        <Select
          label="Reason"
          required
          data={enumChoices(FalsePositiveReasonSchema).map(({ value, title }) => ({ value, label: title }))}
          value={values.reason || null}
          onChange={(reason) => set("reason", reason ?? "")}
        />
      )}
      {values.kind !== "detection" && (
        <Textarea
          label="Note"
          description="Published with the event"
          autosize
          value={values.note}
          onChange={({ currentTarget }) => set("note", currentTarget.value)}
        />
      )}
      <TextInput
        label="Discussion"
        description="Address of an issue"
        value={values.issue}
        onChange={({ currentTarget }) => set("issue", currentTarget.value.trim())}
      />
    </>
  );
}

type EventType = NonNullable<Exclude<MessageInitShape<typeof AdvisoryEventSchema>, { $typeName: string }>["type"]>;

function typeFrom({ kind, version, versions, reason, note }: typeof INITIAL): EventType {
  if (kind === "detection") return { case: kind, value: { type: { case: "manual", value: {} } } };
  if (kind === "fixed") return { case: kind, value: { fixedVersion: version.trim(), note } };
  if (kind === "patched") return { case: kind, value: { patchedVersions: linesOf(versions), note } };
  if (kind === "falsePositiveDetermination")
    return { case: kind, value: { type: Number(reason) as AdvisoryEvent_FalsePositiveDetermination_Type, note } };
  return { case: kind, value: { note } };
}
