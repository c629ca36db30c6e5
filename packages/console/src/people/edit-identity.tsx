/** Changes an identity: its name, its description, and how it proves itself. */
import { useMutation } from "@connectrpc/connect-query";
import { IdentitiesService, type Identity } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { NameFields } from "../form/name-fields.tsx";
import { useForm } from "../form/use-form.ts";
import { useStored } from "../form/use-stored.ts";
import { ActionButton } from "../object/action-button.tsx";
import { parentOf } from "../object/parent-of.ts";
import type { Values } from "./identity-kinds.ts";
import { decidedFields, ProofFields } from "./proof-fields.tsx";
import { storedProof } from "./raw-proofs.ts";
import { TokenCheck } from "./token-check.tsx";

export function EditIdentityButton({ identity }: { readonly identity: Identity }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={IdentitiesService.method.updateIdentity} uid={identity.uid} variant="default" onClick={open}>
        Edit
      </ActionButton>
      {isOpen && <EditIdentityDialog identity={identity} onClose={close} />}
    </>
  );
}

/** Fields of the contract that the oneof `relationship` consists of. */
const PROOFS: Readonly<Record<string, string>> = { claimMatch: "claim_match", staticKeys: "static_keys", awsIdentity: "aws_identity" };

function EditIdentityDialog({ identity, onClose }: { readonly identity: Identity; readonly onClose: () => void }) {
  const { uid, name } = identity;
  const stored = storedProof(identity);
  const update = useMutation(IdentitiesService.method.updateIdentity);
  const readStored = useStored(IdentitiesService.method.getIdentity, { uid });
  const edited = (values: Values) => ({
    uid,
    name: values.name,
    description: values.description,
    relationship: stored?.proof.relationshipFrom(values) ?? identity.relationship,
  });
  const form = useForm(
    valuesFrom(identity),
    async (values, changed) => {
      const paths = pathsOf(changed, identity);
      if (paths.length > 0) await update.mutateAsync({ identity: edited(values), updateMask: { paths } });
      onClose();
    },
    async () => valuesFrom(await readStored()),
  );
  const { values, violation, set } = form;
  const fields = stored?.proof.fields ?? [];
  return (
    <FormDialog
      title={`Edit ${name}`}
      send="Save"
      size="lg"
      form={form}
      fields={new Set(["name", "description", ...decidedFields(fields)])}
      onClose={onClose}
    >
      <NameFields values={values} violation={violation} onChange={set} />
      <ProofFields fields={fields} values={values} error={form.error} onChange={set} />
      {identity.relationship.case !== "awsIdentity" && <TokenCheck parent={parentOf(uid)} identity={edited(values)} />}
    </FormDialog>
  );
}

function valuesFrom(identity: Identity): Values {
  const { name, description } = identity;
  return { ...storedProof(identity)?.values, name, description };
}

/** All values but the name and the description are those of the proof. */
function pathsOf(changed: readonly string[], { relationship }: Identity): string[] {
  const proof = PROOFS[relationship.case ?? ""];
  const named = changed.filter((each) => each === "name" || each === "description");
  return [...named, ...(changed.length > named.length && proof !== undefined ? [proof] : [])];
}
