/** The wizard that gives a machine an identity. Its kind is part of the address. A person gets an invite instead. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { useMutation } from "@connectrpc/connect-query";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Alert, Radio, Stack, Text, TextInput, Title } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type ComponentProps, useState } from "react";
import { FormPage } from "../form/form-page.tsx";
import { GroupField } from "../form/group-field.tsx";
import { NAME_RULE } from "../form/name-fields.tsx";
import { useForm } from "../form/use-form.ts";
import { screenPath, useOrganization } from "../frame/organization.ts";
import { ScreenTitle } from "../frame/screen-title.tsx";
import { useSearchState } from "../frame/search.ts";
import { Details } from "../object/details.tsx";
import { CreateInviteButton } from "./create-invite.tsx";
import { type IdentityKind, identityKinds, PERSON, type Relationship, type Values } from "./identity-kinds.ts";
import { proofRows } from "./proof.ts";
import { decidedFields, ProofFields } from "./proof-fields.tsx";
import { createStaticKey, type StaticKey } from "./static-key.ts";
import { StaticKeySecret } from "./static-key-secret.tsx";
import { TokenCheck } from "./token-check.tsx";

export function Screen() {
  const [{ kind: chosen }, change] = useSearchState();
  const kind = identityKinds.find(({ id }) => id === chosen);
  return (
    <Stack>
      <ScreenTitle>New identity</ScreenTitle>
      <Radio.Group
        label="Who or what will sign in?"
        value={chosen ?? null}
        onChange={(value) => change({ kind: typeof value === "string" ? value : "" })}
      >
        <Stack gap="xs" mt="xs">
          {identityKinds.map(({ id, title, description }) => (
            <Radio key={id} value={id} label={title} description={description} />
          ))}
          <Radio value={PERSON} label="A person" description="Gets a link and joins with it" />
        </Stack>
      </Radio.Group>
      {chosen === PERSON && <Person />}
      <Machine kind={kind} />
    </Stack>
  );
}

function Person() {
  const organization = useOrganization();
  return (
    <Stack align="flex-start">
      <Text>
        People are not created here: each signs in by the sign-in of this server, or of an identity provider. An invite gives the person a
        role.
      </Text>
      <CreateInviteButton parent={organization} />
    </Stack>
  );
}

/** Inputs of a kind keep their values while another kind is shown. */
function valueName(kind: IdentityKind, name: string): string {
  return `${kind.id}.${name}`;
}

const initialProofs: Values = Object.fromEntries(
  identityKinds.flatMap((kind) => kind.fields.map(({ name, initial = "" }) => [valueName(kind, name), initial])),
);

function proofValues(kind: IdentityKind, values: Values): Values {
  return Object.fromEntries(kind.fields.map(({ name }) => [name, values[valueName(kind, name)] ?? ""]));
}

interface Created {
  readonly uid: string;
  readonly staticKey: StaticKey;
}

function Machine({ kind }: { readonly kind: IdentityKind | undefined }) {
  const organization = useOrganization();
  const navigate = useNavigate();
  const [{ group = organization }] = useSearchState();
  const create = useMutation(IdentitiesService.method.createIdentity);
  const [created, setCreated] = useState<Created>();
  const open = (uid: string) => void navigate({ to: screenPath(organization, "/identity", uid), search: { tab: "roles" } });
  const initial: Values = { ...initialProofs, name: "", description: "", parent: group };
  const form = useForm(initial, async (values) => {
    if (kind === undefined) return;
    const staticKey = kind.id === "key" ? await createStaticKey() : undefined;
    const relationship = savedRelationship(kind, proofValues(kind, values), staticKey);
    const { name = "", description = "", parent = "" } = values;
    const { uid } = await create.mutateAsync({ parent, identity: { name, description, relationship } });
    return () => (staticKey === undefined ? open(uid) : setCreated({ uid, staticKey }));
  });
  if (kind === undefined) return null;

  const proof = proofValues(kind, form.values);
  const fields = new Set(["name", "description", "parent", ...decidedFields(kind.fields)]);
  return (
    <FormPage send="Create" form={form} fields={fields}>
      <NameFields form={form} />
      <Title order={2} size="h4">
        How it proves itself
      </Title>
      <ProofFields
        fields={kind.fields}
        values={proof}
        error={form.error}
        onChange={(name, value) => form.set(valueName(kind, name), value)}
      />
      {kind.id === "key" && crypto.subtle === undefined && (
        <Alert color="red" variant="outline" role="alert" title="This connection is not encrypted">
          Browsers make keys over HTTPS and on the server's own machine only.
        </Alert>
      )}
      {kind.hasToken && <Preview relationship={kind.relationshipFrom(proof)} />}
      {kind.hasToken && (
        <TokenCheck
          parent={form.values.parent ?? ""}
          identity={{ name: form.values.name || "unnamed", relationship: kind.relationshipFrom(proof) }}
        />
      )}
      {created !== undefined && (
        <StaticKeySecret
          staticKey={created.staticKey}
          identity={created.uid}
          issuer={proof.issuer ?? ""}
          subject={proof.subject ?? ""}
          onClose={() => open(created.uid)}
        />
      )}
    </FormPage>
  );
}

function NameFields({ form: { values, violation, set } }: { readonly form: ReturnType<typeof useForm<Values>> }) {
  const text = (name: string): ComponentProps<typeof TextInput> => ({
    value: values[name] ?? "",
    error: violation(name),
    onChange: ({ currentTarget }) => set(name, currentTarget.value),
  });
  return (
    <>
      <TextInput label="Name" description={NAME_RULE} required {...text("name")} />
      <TextInput label="Description" {...text("description")} />
      <GroupField value={values.parent ?? ""} error={violation("parent")} onChange={(uid) => set("parent", uid)} />
    </>
  );
}

function Preview({ relationship }: { readonly relationship: Relationship }) {
  return (
    <section>
      <Text size="sm">The identity will accept tokens with:</Text>
      <Details rows={proofRows(relationship).map(([title, value]) => [title, <bdi key={title}>{value}</bdi>] as const)} />
    </section>
  );
}

const DAY_MS = 86_400_000;

function savedRelationship(kind: IdentityKind, proof: Values, staticKey: StaticKey | undefined): Relationship {
  const relationship = kind.relationshipFrom(proof);
  if (relationship.case !== "staticKeys" || staticKey === undefined) return relationship;
  const expirationTime = timestampFromDate(new Date(Date.now() + (Number(proof.days) || 0) * DAY_MS));
  return { case: "staticKeys", value: { ...relationship.value, issuerKeys: staticKey.publicKeys, expirationTime } };
}
