/** Counts what keeps a group from being deleted, each kind with a link to the list of it. */
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import { AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { LibraryArtifactsService } from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import { PullTokensService } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import { SignatureIdentitiesService } from "@holt/api/gen/holt/v1/signature_identities_pb.ts";
import { SignatureKeysService } from "@holt/api/gen/holt/v1/signature_keys_pb.ts";
import { SubscriptionsService } from "@holt/api/gen/platform/events/v2/subscriptions_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { IdentityProvidersService } from "@holt/api/gen/platform/iam/v2/identity_providers_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { AdvisoriesService } from "@holt/api/gen/platform/vulnerabilities/v2/advisories_pb.ts";
import { List } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Search } from "../frame/search.ts";
import { ecosystems } from "../libraries/ecosystem.ts";

interface Content {
  readonly title: string;
  // biome-ignore lint/suspicious/noExplicitAny: the List operations have no common type
  readonly method: DescMethodUnary<any, any>;
  /** Filter of the list besides the group. */
  readonly filter?: object;
  /** The screen that lists them; left out where there is none. */
  readonly to?: string;
  /** Parameters of the screen; the group by default. */
  readonly search?: Search;
}

function contentsOf(group: string): readonly Content[] {
  return [
    { title: "Image repositories", method: ReposService.method.listRepos, to: "/repositories" },
    ...ecosystems.map(({ title, path, value }) => ({
      title: `${title} libraries`,
      method: LibraryArtifactsService.method.listLibraryArtifacts,
      filter: { ecosystem: value },
      to: "/libraries",
      search: { group, ecosystem: path },
    })),
    { title: "Advisories", method: AdvisoriesService.method.listAdvisories, to: "/advisories" },
    { title: "Mirrors", method: AdvisoryMirrorsService.method.listAdvisoryMirrors, to: "/mirrors" },
    { title: "Webhooks", method: SubscriptionsService.method.listSubscriptions, to: "/subscriptions" },
    { title: "Identities", method: IdentitiesService.method.listIdentities, to: "/identities" },
    { title: "Pull tokens", method: PullTokensService.method.listPullTokens, to: "/pull-tokens" },
    { title: "Roles", method: RolesService.method.listRoles, to: "/roles", search: { from: "groups" } },
    { title: "Identity providers", method: IdentityProvidersService.method.listIdentityProviders, to: "/identity-providers", search: {} },
    { title: "Signature keys", method: SignatureKeysService.method.listSignatureKeys },
    { title: "Signature identities", method: SignatureIdentitiesService.method.listSignatureIdentities },
  ];
}

export function GroupContents({ group, onLeave }: { readonly group: string; readonly onLeave: () => void }) {
  const groups = useTotal(GroupsService.method.listGroups, group);
  return (
    <List>
      {groups > 0n && (
        <List.Item>
          Groups: {groups.toLocaleString("en")}{" "}
          <ScreenLink to="/group" uid={group} search={{ tab: "groups" }} onClick={onLeave}>
            in this group
          </ScreenLink>
        </List.Item>
      )}
      {contentsOf(group).map((content) => (
        <ContentItem key={content.title} content={content} group={group} onLeave={onLeave} />
      ))}
    </List>
  );
}

interface ContentItemProps {
  readonly content: Content;
  readonly group: string;
  readonly onLeave: () => void;
}

function ContentItem({ content, group, onLeave }: ContentItemProps) {
  const { title, method, filter, to, search = { group } } = content;
  const total = useTotal(method, group, filter);
  if (total === 0n) return null;
  return (
    <List.Item>
      {title}: {total.toLocaleString("en")}{" "}
      {to !== undefined && (
        <ScreenLink to={to} search={search} onClick={onLeave}>
          {search.group === group ? "in this group" : "in the organization"}
        </ScreenLink>
      )}
    </List.Item>
  );
}

/** Number of resources of a kind directly in the group, without those that the person may not see. */
function useTotal(method: Content["method"], group: string, filter: object = {}): bigint {
  const { data } = useQuery(method, { ...filter, uidp: { childrenOf: group }, pageSize: 1 } as never);
  return (data as { totalCount?: bigint } | undefined)?.totalCount ?? 0n;
}
