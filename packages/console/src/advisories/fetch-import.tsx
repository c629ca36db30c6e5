/** Imports a file from an address, once: the server fetches it, and the screen of the import shows the progress. */
import { useMutation } from "@connectrpc/connect-query";
import { ImportKind, ImportsService } from "@holt/api/gen/holt/v1/imports_pb.ts";
import { TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { useForm } from "../form/use-form.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { KindField } from "./kind-field.tsx";

const fields: ReadonlySet<string> = new Set(["parent", "kind", "url"]);

export function FetchImportButton({ parent }: { readonly parent: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={ImportsService.method.fetchImport} uid={parent} variant="default" size="xs" onClick={open}>
        Import an address
      </ActionButton>
      {isOpen && <FetchImportDialog parent={parent} onClose={close} />}
    </>
  );
}

function FetchImportDialog({ parent, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const organization = useOrganization();
  const fetchImport = useMutation(ImportsService.method.fetchImport);
  const form = useForm({ parent, kind: ImportKind.ADVISORIES as ImportKind, url: "" }, async ({ parent: group, kind, url }) => {
    const { uid } = await fetchImport.mutateAsync({ parent: group, kind, url });
    return () => void navigate({ to: screenPath(organization, "/import", uid), search: {} });
  });
  const { values, set, violation } = form;
  return (
    <FormDialog title="Import an address" send="Import" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Address"
        description="https address of a file or an archive: OSV, OpenVEX, CSAF, secdb, or YAML of advisories. The server fetches it once."
        required
        data-autofocus
        value={values.url}
        error={violation("url")}
        onChange={({ currentTarget }) => set("url", currentTarget.value.trim())}
      />
      <KindField value={values.kind} error={violation("kind")} onChange={(kind) => set("kind", kind)} />
      <GroupField value={values.parent} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </FormDialog>
  );
}
