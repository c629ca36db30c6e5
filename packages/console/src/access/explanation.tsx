/** The answer to the question why an identity may do something: each chain of identity, binding, role and capability. */
import { type ExplainAccessResponse, ExplainAccessResponse_PullTokenLimitSchema, type Grant } from "@holt/api/gen/holt/v1/access_pb.ts";
import { Alert, List, Stack, Text, Title } from "@mantine/core";
import { ScreenLink } from "../frame/screen-link.tsx";
import { enumText } from "../object/enum-text.ts";

export interface ExplanationProps {
  readonly answer: ExplainAccessResponse;
  readonly identity: string;
  /** Name of the capability. */
  readonly capability: string;
}

export function Explanation({ answer, identity, capability }: ExplanationProps) {
  const limit = enumText(ExplainAccessResponse_PullTokenLimitSchema, answer.pullTokenLimit);
  return (
    <Stack>
      <Alert color={answer.allowed ? undefined : "red"} variant="outline" title={answer.allowed ? "Allowed" : "Not allowed"} role="status">
        <bdi>{answer.summary}</bdi>
        {limit !== "" && <Text>The pull token is limited by: {limit}.</Text>}
        {answer.confinedTo !== "" && <Text>The identity has no access outside of its group {answer.confinedTo}.</Text>}
      </Alert>
      <Chains title="Bindings that give it" grants={answer.grants} identity={identity} end={capability} />
      <Chains title="Bindings that do not give it" grants={answer.lacking} identity={identity} end={`no ${capability}`} />
      {!answer.allowed && <Roles uids={answer.rolesWithCapability} />}
    </Stack>
  );
}

interface ChainsProps {
  readonly title: string;
  readonly grants: readonly Grant[];
  readonly identity: string;
  /** Last part of each chain. */
  readonly end: string;
}

function Chains({ title, grants, identity, end }: ChainsProps) {
  if (grants.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4">
        {title}
      </Title>
      <List style={{ overflowWrap: "anywhere" }}>
        {grants.map(({ roleBindingUid, groupUid, roleUid, roleName, inherited }) => (
          <List.Item key={`${roleBindingUid} ${groupUid} ${roleUid}`}>
            {identity} → binding at{" "}
            <ScreenLink to="/group" uid={groupUid} search={{ tab: "access" }} underline="always">
              {groupUid}
            </ScreenLink>
            {inherited && " (inherited)"} → role{" "}
            <ScreenLink to="/role" uid={roleUid} underline="always">
              <bdi>{roleName}</bdi>
            </ScreenLink>{" "}
            → {end}
          </List.Item>
        ))}
      </List>
    </section>
  );
}

function Roles({ uids }: { readonly uids: readonly string[] }) {
  if (uids.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4">
        Roles with the capability that you can bind
      </Title>
      <List style={{ overflowWrap: "anywhere" }}>
        {uids.map((uid) => (
          <List.Item key={uid}>
            <ScreenLink to="/role" uid={uid} underline="always">
              {uid}
            </ScreenLink>
          </List.Item>
        ))}
      </List>
    </section>
  );
}
