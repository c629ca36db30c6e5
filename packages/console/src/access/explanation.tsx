/** The answer to the question why an identity may do something: each chain of identity, binding, role and capability. */
import { useQuery } from "@connectrpc/connect-query";
import { type ExplainAccessResponse, ExplainAccessResponse_PullTokenLimitSchema, type Grant } from "@holt/api/gen/holt/v1/access_pb.ts";
import { RolesService } from "@holt/api/gen/platform/iam/v2/roles_pb.ts";
import { Alert, List, Stack, Text, Title } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import { MAX_PAGE_SIZE } from "../list/list-method.ts";
import { enumText } from "../object/enum-text.ts";
import { BindRoleButton } from "./bind-role.tsx";
import { Chain } from "./chain.tsx";

export interface ExplanationProps {
  readonly answer: ExplainAccessResponse;
  readonly identity: string;
  /** Name of the capability. */
  readonly capability: string;
  /** The group where a binding would help. */
  readonly group: string;
}

export function Explanation({ answer, identity, capability, group }: ExplanationProps) {
  const limit = enumText(ExplainAccessResponse_PullTokenLimitSchema, answer.pullTokenLimit);
  return (
    <Stack>
      <Alert color={answer.allowed ? undefined : "red"} variant="outline" title={answer.allowed ? "Allowed" : "Not allowed"} role="status">
        <bdi>{answer.summary}</bdi>
        {limit !== "" && <Text>The pull token is limited by: {limit}.</Text>}
        {answer.confinedTo !== "" && <Text>The identity has no access outside of its group {answer.confinedTo}.</Text>}
      </Alert>
      <Chains title="Bindings that give it" grants={answer.grants} identity={identity} capability={capability} isGiven />
      <Chains title="Bindings that do not give it" grants={answer.lacking} identity={identity} capability={capability} isGiven={false} />
      {!answer.allowed && <Roles uids={answer.rolesWithCapability} identity={identity} group={group} />}
    </Stack>
  );
}

interface ChainsProps {
  readonly title: string;
  readonly grants: readonly Grant[];
  readonly identity: string;
  readonly capability: string;
  readonly isGiven: boolean;
}

function Chains({ title, grants, ...chain }: ChainsProps) {
  if (grants.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        {title}
      </Title>
      <List listStyleType="none" spacing="sm">
        {grants.map((grant) => (
          <List.Item key={`${grant.roleBindingUid} ${grant.groupUid} ${grant.roleUid}`}>
            <Chain grant={grant} {...chain} />
          </List.Item>
        ))}
      </List>
    </section>
  );
}

interface RolesProps {
  readonly uids: readonly string[];
  readonly identity: string;
  readonly group: string;
}

function Roles({ uids, identity, group }: RolesProps) {
  const { data } = useQuery(
    RolesService.method.listRoles,
    { uidp: { ids: uids.slice(0, MAX_PAGE_SIZE) }, pageSize: MAX_PAGE_SIZE },
    { enabled: uids.length > 0 },
  );
  if (uids.length === 0) return null;
  const names = new Map((data?.roles ?? []).map(({ uid, name }) => [uid, name]));
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Roles with the capability that you can bind
      </Title>
      <List mb="sm" style={{ overflowWrap: "anywhere" }}>
        {uids.map((uid) => (
          <List.Item key={uid}>
            <ScreenLink to="/role" uid={uid} underline="always">
              <bdi>{names.get(uid) ?? uid}</bdi>
            </ScreenLink>
          </List.Item>
        ))}
      </List>
      <BindRoleButton group={group} identity={identity} />
    </section>
  );
}
