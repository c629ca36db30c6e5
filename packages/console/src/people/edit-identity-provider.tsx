/** Sets up an identity provider, or changes one. The issuer tells what it supports before anything is saved. */
import { useMutation } from "@connectrpc/connect-query";
import { type IdentityProvider, IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { Checkbox, PasswordInput, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ComponentProps } from "react";
import { RoleField } from "../access/role-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { NAME_RULE } from "../form/name-fields.tsx";
import { type Form, useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
import { ActionButton } from "../object/action-button.tsx";
import { Discovery } from "./discovery.tsx";

const { createIdentityProvider, getIdentityProvider, updateIdentityProvider } = IdentityProvidersService.method;

type ProviderValues = {
  readonly name: string;
  readonly description: string;
  readonly defaultRole: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly pkceEnabled: boolean;
};

/** The fields of the contract. */
const PATHS: Readonly<Record<keyof ProviderValues, string>> = {
  name: "name",
  description: "description",
  defaultRole: "default_role",
  issuer: "oidc.issuer",
  clientId: "oidc.client_id",
  clientSecret: "oidc.client_secret",
  scopes: "oidc.additional_scopes",
  groupsClaim: "oidc.groups_claim",
  pkceEnabled: "oidc.pkce_enabled",
};

const fields: ReadonlySet<string> = new Set(Object.values(PATHS));

const EMPTY: ProviderValues = {
  name: "",
  description: "",
  defaultRole: "",
  issuer: "",
  clientId: "",
  clientSecret: "",
  scopes: "email profile",
  groupsClaim: "",
  pkceEnabled: true,
};

export function CreateProviderButton({ organization }: { readonly organization: string }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={createIdentityProvider} uid={organization} size="xs" onClick={open}>
        New identity provider
      </ActionButton>
      {isOpen && <CreateDialog organization={organization} onClose={close} />}
    </>
  );
}

function CreateDialog({ organization, onClose }: { readonly organization: string; readonly onClose: () => void }) {
  const create = useMutation(createIdentityProvider);
  const form = useForm(EMPTY, async (values) => {
    await create.mutateAsync({ parent: organization, identityProvider: messageFrom(values) });
    onClose();
  });
  return (
    <FormDialog title="New identity provider" send="Create" size="lg" form={form} fields={fields} onClose={onClose}>
      <ProviderFields form={form} organization={organization} isNew />
    </FormDialog>
  );
}

export function EditProviderButton({ provider }: { readonly provider: IdentityProvider }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={updateIdentityProvider} uid={provider.uid} variant="default" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <EditDialog provider={provider} onClose={close} />}
    </>
  );
}

function EditDialog({ provider, onClose }: { readonly provider: IdentityProvider; readonly onClose: () => void }) {
  const { uid, name } = provider;
  const update = useMutation(updateIdentityProvider);
  const readStored = useStored(getIdentityProvider, { uid });
  const form = useForm(
    valuesFrom(provider),
    async (values, changed) => {
      const updateMask = { paths: changed.map((value) => PATHS[value]) };
      if (changed.length > 0) await update.mutateAsync({ identityProvider: { uid, ...messageFrom(values) }, updateMask });
      onClose();
    },
    async () => valuesFrom(await readStored()),
  );
  return (
    <FormDialog title={`Edit ${name}`} send="Save" size="lg" form={form} fields={fields} onClose={onClose}>
      <ProviderFields form={form} organization={uid.split("/")[0] ?? ""} />
    </FormDialog>
  );
}

interface ProviderFieldsProps {
  readonly form: Form<ProviderValues>;
  readonly organization: string;
  readonly isNew?: boolean;
}

function ProviderFields({ form, organization, isNew = false }: ProviderFieldsProps) {
  const { values, violation, set } = form;
  const text = (name: "name" | "description" | "issuer" | "clientId" | "scopes" | "groupsClaim", field: string) =>
    ({
      value: values[name],
      error: violation(field),
      onChange: ({ currentTarget }) => set(name, currentTarget.value),
    }) satisfies ComponentProps<typeof TextInput>;
  return (
    <>
      <TextInput
        label="Name"
        description={`People find the provider by it. ${NAME_RULE}`}
        required
        data-autofocus
        {...text("name", "name")}
      />
      <TextInput label="Description" {...text("description", "description")} />
      <TextInput label="Issuer" placeholder="https://login.example.com" required {...text("issuer", "oidc.issuer")} />
      <Discovery
        organization={organization}
        issuer={values.issuer}
        onFound={({ pkceSupported, scopesSupported }) => {
          if (!isNew) return;
          set("pkceEnabled", pkceSupported);
          const kept = values.scopes.split(/\s+/).filter((scope) => scopesSupported.length === 0 || scopesSupported.includes(scope));
          set("scopes", kept.join(" "));
        }}
      />
      <TextInput label="Client id" required {...text("clientId", "oidc.client_id")} />
      <PasswordInput
        label="Client secret"
        description={isNew ? "Not needed with PKCE if the provider gave none" : "The stored one stays if empty"}
        value={values.clientSecret}
        error={violation("oidc.client_secret")}
        autoComplete="off"
        visibilityToggleButtonProps={{ "aria-label": "Show the secret", tabIndex: 0 }}
        onChange={({ currentTarget }) => set("clientSecret", currentTarget.value)}
      />
      <Checkbox
        label="PKCE"
        checked={values.pkceEnabled}
        error={violation("oidc.pkce_enabled")}
        onChange={({ currentTarget }) => set("pkceEnabled", currentTarget.checked)}
      />
      <TextInput label="Scopes" description="Besides openid, with spaces in between" {...text("scopes", "oidc.additional_scopes")} />
      <TextInput
        label="Claim with the groups"
        description="For group mappings; no groups are read if empty"
        {...text("groupsClaim", "oidc.groups_claim")}
      />
      <RoleField
        group={organization}
        label="Role at the first sign-in"
        value={values.defaultRole}
        error={violation("default_role")}
        onChange={(uid) => set("defaultRole", uid)}
      />
    </>
  );
}

function messageFrom({ issuer, clientId, clientSecret, scopes, groupsClaim, pkceEnabled, ...values }: ProviderValues) {
  const additionalScopes = scopes.split(/\s+/).filter((scope) => scope !== "");
  const oidc = { issuer: issuer.trim(), clientId, clientSecret, additionalScopes, groupsClaim, pkceEnabled };
  return { ...values, configuration: { case: "oidc", value: oidc } as const };
}

function valuesFrom({ name, description, defaultRole, configuration: { value } }: IdentityProvider): ProviderValues {
  return {
    name,
    description,
    defaultRole,
    issuer: value?.issuer ?? "",
    clientId: value?.clientId ?? "",
    clientSecret: "",
    scopes: value?.additionalScopes.join(" ") ?? "",
    groupsClaim: value?.groupsClaim ?? "",
    pkceEnabled: value?.pkceEnabled ?? false,
  };
}
