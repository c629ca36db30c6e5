/** Deletes an image repository, and says what goes with it. */
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { useDelete } from "../object/use-delete.ts";
import { DeletionPreview } from "./deletion-preview.tsx";

export interface DeleteRepositoryProps {
  readonly repo: Repo;
  /** Leads away from the screen of the repository. */
  readonly onDeleted: () => Promise<void>;
}

export function DeleteRepositoryButton(props: DeleteRepositoryProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={ReposService.method.deleteRepo} uid={props.repo.uid} variant="outline" color="red" onClick={open}>
        Delete
      </ActionButton>
      {isOpen && <DeleteRepositoryDialog {...props} onClose={close} />}
    </>
  );
}

function DeleteRepositoryDialog({ repo, onDeleted, onClose }: DeleteRepositoryProps & { readonly onClose: () => void }) {
  const { uid, name } = repo;
  const remove = useDelete(ReposService.method.deleteRepo);
  const form = useForm({}, () => remove({ uid }, onDeleted));
  return (
    <FormDialog title={`Delete ${name}?`} send="Delete" isDangerous form={form} fields={new Set()} onClose={onClose}>
      <DeletionPreview uid={uid} />
    </FormDialog>
  );
}
