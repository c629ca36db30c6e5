/** Deletes an image repository, and says how many tags go with it. */
import { useQuery } from "@connectrpc/connect-query";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ActionButton } from "../object/action-button.tsx";
import { useDelete } from "../object/use-delete.ts";

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
  const all = { includeReferrers: true, includeDates: true, includeEpochs: true };
  const { data } = useQuery(TagsService.method.listTags, { uidp: { childrenOf: uid }, ...all, pageSize: 1 });
  const form = useForm({}, () => remove({ uid }, onDeleted));
  return (
    <FormDialog title={`Delete ${name}?`} send="Delete" isDangerous form={form} fields={new Set()} onClose={onClose}>
      <Text>
        {data?.totalCount === undefined ? "Its" : `Its ${data.totalCount}`} tags go with it, and the images that no other repository has.
        This cannot be undone.
      </Text>
    </FormDialog>
  );
}
