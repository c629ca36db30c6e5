/** Ties a group to accounts at cloud providers, or changes these accounts. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import {
  type AccountAssociation,
  type AccountAssociationSchema,
  AccountAssociationsService,
} from "@holt/api/gen/platform/iam/v2/account_associations_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { NameFields } from "../form/name-fields.tsx";
import { useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
import { ActionButton } from "../object/action-button.tsx";
import type { Values } from "./identity-kinds.ts";
import { decidedFields, ProofFields } from "./proof-fields.tsx";

const { createAccountAssociation, getAccountAssociation, updateAccountAssociation } = AccountAssociationsService.method;

const accountFields = [
  { name: "account", label: "AWS account", placeholder: "123456789012", decides: ["amazon.account"] },
  { name: "projectId", label: "Google project", decides: ["google.project_id"] },
  { name: "projectNumber", label: "Number of the Google project", decides: ["google.project_number"] },
  { name: "tenantId", label: "Azure tenant", description: "A GUID", decides: ["azure.tenant_id"] },
  {
    name: "clientIds",
    label: "Azure applications",
    description: "One per line: component=application id",
    type: "lines",
    decides: ["azure.client_ids"],
  },
] as const;

/** The field of the contract that a value belongs to: an account is changed as a whole. */
function pathOf(name: string): string {
  return accountFields.find((field) => field.name === name)?.decides[0].split(".")[0] ?? name;
}

const fields: ReadonlySet<string> = new Set(["name", "description", "parent", ...decidedFields(accountFields)]);

export function CreateAssociationButton({ organization }: { readonly organization: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={createAccountAssociation} uid={organization} size="xs" onClick={open}>
        New cloud account
      </ActionButton>
      {isOpen && <AssociationDialog group={organization} onClose={close} />}
    </>
  );
}

export function EditAssociationButton({ association }: { readonly association: AccountAssociation }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={updateAccountAssociation} uid={association.uid} variant="default" size="compact-xs" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <AssociationDialog group={association.uid} association={association} onClose={close} />}
    </>
  );
}

interface AssociationDialogProps {
  readonly group: string;
  /** Left out for a new one. */
  readonly association?: AccountAssociation;
  readonly onClose: () => void;
}

function AssociationDialog({ group, association, onClose }: AssociationDialogProps) {
  const create = useMutation(createAccountAssociation);
  const update = useMutation(updateAccountAssociation);
  const readStored = useStored(getAccountAssociation, { uid: group });
  const valuesOf = (stored: AccountAssociation | undefined): Values => ({ ...valuesFrom(stored), parent: group });
  const form = useForm(
    valuesOf(association),
    async (values, changed) => {
      const accountAssociation = messageFrom(values);
      if (association === undefined) await create.mutateAsync({ parent: values.parent, accountAssociation });
      else if (changed.length > 0)
        await update.mutateAsync({
          accountAssociation: { uid: association.uid, ...accountAssociation },
          updateMask: { paths: [...new Set(changed.map(pathOf))] },
        });
      onClose();
    },
    association && (async () => valuesOf(await readStored())),
  );
  const { values, violation, set } = form;
  const title = association === undefined ? "New cloud account" : `Edit ${association.name}`;
  return (
    <FormDialog title={title} send={association === undefined ? "Create" : "Save"} form={form} fields={fields} onClose={onClose}>
      <NameFields values={values} violation={violation} onChange={set} />
      <ProofFields fields={accountFields} values={values} error={form.error} onChange={set} />
      {association === undefined && (
        <GroupField value={values.parent ?? ""} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
      )}
    </FormDialog>
  );
}

function messageFrom(values: Values): MessageInitShape<typeof AccountAssociationSchema> {
  const { name, description, account = "", projectId = "", projectNumber = "", tenantId = "", clientIds = "" } = values;
  const lines = clientIds.split("\n").filter((line) => line.trim() !== "");
  const pairs = lines.map((line) => line.split("=").map((part) => part.trim()));
  return {
    name,
    description,
    amazon: account === "" ? undefined : { account },
    google: projectId === "" && projectNumber === "" ? undefined : { projectId, projectNumber },
    azure: tenantId === "" ? undefined : { tenantId, clientIds: Object.fromEntries(pairs) },
  };
}

function valuesFrom(association: AccountAssociation | undefined): Values {
  const { name = "", description = "", amazon, google, azure } = association ?? {};
  return {
    name,
    description,
    account: amazon?.account ?? "",
    projectId: google?.projectId ?? "",
    projectNumber: google?.projectNumber ?? "",
    tenantId: azure?.tenantId ?? "",
    clientIds: Object.entries(azure?.clientIds ?? {})
      .map(([component, id]) => `${component}=${id}`)
      .join("\n"),
  };
}
