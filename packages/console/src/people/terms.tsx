/** The legal documents that the organization has accepted. Errors of the API lead here with the documents that are missing. */
import { useMutation } from "@connectrpc/connect-query";
import { type TermsAcceptance, TermsAcceptanceSchema, TermsService } from "@holt/api/gen/platform/iam/v2/terms_pb.ts";
import { Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { useOrganization } from "../frame/organization.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import type { Column } from "../list/columns.ts";
import { List } from "../list/list.tsx";
import { timeColumn } from "../list/time-column.tsx";
import { ActionButton } from "../object/action-button.tsx";

const columns: readonly Column<TermsAcceptance>[] = [
  { id: "document", title: "Document", text: ({ docId }) => docId, orderBy: "doc_id" },
  timeColumn({ id: "time", title: "Accepted", time: ({ createTime }) => createTime, orderBy: "create_time" }),
  {
    id: "by",
    title: "Accepted by",
    text: ({ acceptedBy }) => acceptedBy,
    cell: ({ acceptedBy }) => (
      <ScreenLink to="/identity" uid={acceptedBy} style={{ overflowWrap: "anywhere" }}>
        {acceptedBy}
      </ScreenLink>
    ),
    orderBy: "accepted_by",
  },
  { id: "group", title: "uid of the group", text: ({ orgUid }) => orgUid, orderBy: "org_uid", isHidden: true },
];

export function Screen() {
  const organization = useOrganization();
  return (
    <>
      <ScreenTitle>Terms</ScreenTitle>
      <List
        title="Accepted documents"
        method={TermsService.method.listTermsAcceptances}
        request={{ group: organization }}
        itemsOf={({ termsAcceptances }) => termsAcceptances}
        schema={TermsAcceptanceSchema}
        columns={columns}
        keyOf={({ orgUid, docId }) => `${orgUid} ${docId}`}
        defaultOrder="doc_id"
        empty={<Text>No document is accepted. Where the operator demands one, the first refused change names it and leads here.</Text>}
        actions={<AcceptButton organization={organization} />}
      />
    </>
  );
}

function AcceptButton({ organization }: { readonly organization: string }) {
  const [{ accept: missing = "" }, change] = useSearchState();
  const [isOpen, { open, close }] = useDisclosure(false);
  const closeAll = () => {
    close();
    if (missing !== "") change({ accept: "" });
  };
  return (
    <>
      <ActionButton method={TermsService.method.acceptTerms} uid={organization} size="xs" onClick={open}>
        Accept documents
      </ActionButton>
      {(isOpen || missing !== "") && <AcceptDialog organization={organization} missing={missing} onClose={closeAll} />}
    </>
  );
}

const fields: ReadonlySet<string> = new Set(["document_ids"]);

interface AcceptDialogProps {
  readonly organization: string;
  /** Ids of the documents, separated by commas. */
  readonly missing: string;
  readonly onClose: () => void;
}

function AcceptDialog({ organization, missing, onClose }: AcceptDialogProps) {
  const accept = useMutation(TermsService.method.acceptTerms);
  const form = useForm({ documents: missing }, async ({ documents }) => {
    const documentIds = documents.split(/[\s,]+/).filter((id) => id !== "");
    await accept.mutateAsync({ group: organization, documentIds });
    onClose();
  });
  return (
    <FormDialog title="Accept documents" send="Accept" form={form} fields={fields} onClose={onClose}>
      <TextInput
        label="Documents"
        description="Their ids, separated by commas. You accept them for the whole organization, and this cannot be undone."
        required
        data-autofocus
        value={form.values.documents}
        error={form.violation("document_ids")}
        onChange={({ currentTarget }) => form.set("documents", currentTarget.value)}
      />
    </FormDialog>
  );
}
