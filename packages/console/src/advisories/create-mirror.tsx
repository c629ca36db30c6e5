/** Creates a mirror: the server fetches a feed of advisories from an address, now and on a schedule. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportKind } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { NumberInput, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { NAME_RULE } from "../form/name-fields.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";

const FIELDS = ["name", "url", "interval"];
const fields: ReadonlySet<string> = new Set([...FIELDS, "parent", ...FIELDS.map((field) => `advisory_mirror.${field}`)]);
const HOUR_MS = 3_600_000;

export function CreateMirrorButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={AdvisoryMirrorsService.method.createAdvisoryMirror} uid={parent} variant="default" size="xs" onClick={open}>
        New mirror
      </ActionButton>
      {isOpen && <CreateMirrorDialog parent={parent} onClose={close} />}
    </>
  );
}

function CreateMirrorDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const create = useMutation(AdvisoryMirrorsService.method.createAdvisoryMirror);
  const form = useForm({ parent, name: "", url: "", hours: 6 }, async ({ parent: group, name, url, hours }) => {
    const interval = durationFromMs(Math.round(hours * HOUR_MS));
    await create.mutateAsync({ parent: group, advisoryMirror: { name, url, interval, kind: ImportKind.ADVISORIES } });
    onClose();
  });
  const { values, set, violation } = form;
  const errorOf = (field: string) => violation(field) ?? violation(`advisory_mirror.${field}`);
  return (
    <FormDialog title="New mirror" send="Create" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Name"
        description={NAME_RULE}
        required
        data-autofocus
        value={values.name}
        error={errorOf("name")}
        onChange={({ currentTarget }) => set("name", currentTarget.value)}
      />
      <TextInput
        label="Address"
        description="https address of a file or an archive, in any format that an import accepts"
        required
        value={values.url}
        error={errorOf("url")}
        onChange={({ currentTarget }) => set("url", currentTarget.value.trim())}
      />
      <NumberInput
        label="Hours between fetches"
        min={1}
        max={8760}
        value={values.hours}
        error={errorOf("interval")}
        onChange={(hours) => set("hours", Number(hours))}
      />
      <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}
