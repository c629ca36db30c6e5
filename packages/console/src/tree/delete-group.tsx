/** Deletes a group, and shows what is in the way. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { type Group, GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { List, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { ReactNode } from "react";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { ScreenLink } from "../frame/screen-link.tsx";
import { ActionButton } from "../object/action-button.tsx";
import { useDelete } from "../object/use-delete.ts";

export interface DeleteGroupProps {
  readonly group: Group;
  /** Leads away from the screen of the group. */
  readonly onDeleted: () => Promise<void>;
}

export function DeleteGroupButton(props: DeleteGroupProps) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <ActionButton method={GroupsService.method.deleteGroup} uid={props.group.uid} variant="outline" color="red" onClick={open}>
        Delete
      </ActionButton>
      {isOpen && <DeleteGroupDialog {...props} onClose={close} />}
    </>
  );
}

function DeleteGroupDialog({ group, onDeleted, onClose }: DeleteGroupProps & { readonly onClose: () => void }) {
  const remove = useDelete(GroupsService.method.deleteGroup);
  const { uid, name } = group;
  const form = useForm({}, () => remove({ uid }, onDeleted));
  return (
    <FormDialog title={`Delete ${name}?`} send="Delete" isDangerous form={form} fields={new Set()} onClose={onClose}>
      <Text>Its role bindings and invites go with it. This cannot be undone. A group that contains something is not deleted.</Text>
      <List>
        <Content
          title="Groups"
          method={GroupsService.method.listGroups}
          parent={uid}
          link={
            <ScreenLink to="/group" uid={uid} search={{ tab: "groups" }} onClick={onClose}>
              in this group
            </ScreenLink>
          }
        />
        <Content
          title="Image repositories"
          method={ReposService.method.listRepos}
          parent={uid}
          link={
            <ScreenLink to="/repositories" search={{ group: uid }} onClick={onClose}>
              in this group
            </ScreenLink>
          }
        />
        <Content title="Identities" method={IdentitiesService.method.listIdentities} parent={uid} />
        <Content title="Roles" method={RolesService.method.listRoles} parent={uid} />
        <Content title="Pull tokens" method={PullTokensService.method.listPullTokens} parent={uid} />
        <Content title="Signature keys" method={SignatureKeysService.method.listSignatureKeys} parent={uid} />
        <Content title="Subscriptions" method={SubscriptionsService.method.listSubscriptions} parent={uid} />
      </List>
    </FormDialog>
  );
}

interface ContentProps {
  readonly title: string;
  // biome-ignore lint/suspicious/noExplicitAny: the List operations have no common type
  readonly method: DescMethodUnary<any, any>;
  readonly parent: string;
  readonly link?: ReactNode;
}

/** Number of resources of a kind directly in the group; empty for zero. */
function Content({ title, method, parent, link }: ContentProps) {
  const { data } = useQuery(method, { uidp: { childrenOf: parent }, pageSize: 1 } as never);
  const count = (data as { totalCount?: bigint } | undefined)?.totalCount ?? 0n;
  if (count === 0n) return null;
  return (
    <List.Item>
      {title}: {count.toLocaleString("en")} {link}
    </List.Item>
  );
}
