/** Creates a role of a group, or changes one. */
import { useMutation } from "@connectrpc/connect-query";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { type Role, RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { FormDialog } from "../form/form-dialog.tsx";
import { GroupField } from "../form/group-field.tsx";
import { NameFields } from "../form/name-fields.tsx";
import { type Form, useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ActionButton } from "../object/action-button.tsx";
import { CapabilitiesField } from "./capabilities-field.tsx";

const fields: ReadonlySet<string> = new Set(["name", "description", "capabilities", "parent"]);

type RoleValues = { readonly name: string; readonly description: string; readonly capabilities: readonly number[] };

export interface CreateRoleButtonProps {
  readonly parent: string;
  readonly label: string;
  /** The new role begins with the capabilities of this one. */
  readonly like?: Role;
}

export function CreateRoleButton({ parent, label, like }: CreateRoleButtonProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton
        method={RolesService.method.createRole}
        uid={parent}
        variant={like === undefined ? "filled" : "default"}
        size={like === undefined ? "xs" : "sm"}
        onClick={open}
      >
        {label}
      </ActionButton>
      {isOpen && <CreateRoleDialog parent={parent} like={like} onClose={close} />}
    </>
  );
}

interface CreateRoleDialogProps {
  readonly parent: string;
  readonly like: Role | undefined;
  readonly onClose: () => void;
}

function CreateRoleDialog({ parent, like, onClose }: CreateRoleDialogProps) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const create = useMutation(RolesService.method.createRole);
  const initial = { name: "", description: like?.description ?? "", capabilities: (like?.capabilities ?? []) as readonly number[], parent };
  const form = useForm(initial, async ({ parent: group, capabilities, ...role }) => {
    const { uid } = await create.mutateAsync({ parent: group, role: { ...role, capabilities: capabilities as Capability[] } });
    return () => {
      onClose();
      void navigate({ to: screenPath(organization, "/role", uid), search: {} });
    };
  });
  return (
    <FormDialog title="New role" send="Create" size="lg" form={form} fields={fields} onClose={onClose}>
      <RoleFields form={form} />
      <GroupField value={form.values.parent} error={form.violation("parent")} onChange={(uid) => form.set("parent", uid)} />
    </FormDialog>
  );
}

export function EditRoleButton({ role }: { readonly role: Role }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={RolesService.method.updateRole} uid={role.uid} variant="default" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <EditRoleDialog role={role} onClose={close} />}
    </>
  );
}

function EditRoleDialog({ role, onClose }: { readonly role: Role; readonly onClose: () => void }) {
  const { uid, name } = role;
  const update = useMutation(RolesService.method.updateRole);
  const readStored = useStored(RolesService.method.getRole, { uid });
  const form = useForm(
    valuesFrom(role),
    async ({ capabilities, ...values }, changed) => {
      const edited = { uid, ...values, capabilities: capabilities as Capability[] };
      if (changed.length > 0) await update.mutateAsync({ role: edited, updateMask: { paths: [...changed] } });
      onClose();
    },
    async () => valuesFrom(await readStored()),
  );
  return (
    <FormDialog title={`Edit ${name}`} send="Save" size="lg" form={form} fields={fields} onClose={onClose}>
      <RoleFields form={form} />
    </FormDialog>
  );
}

function RoleFields<Values extends RoleValues>({ form }: { readonly form: Form<Values> }) {
  const { values, violation } = form;
  const set = form.set as Form<RoleValues>["set"];
  return (
    <>
      <NameFields values={values} violation={violation} onChange={set} />
      <CapabilitiesField
        value={values.capabilities}
        error={violation("capabilities")}
        onChange={(capabilities) => set("capabilities", capabilities)}
      />
    </>
  );
}

function valuesFrom({ name, description, capabilities }: Role): RoleValues {
  return { name, description, capabilities };
}
