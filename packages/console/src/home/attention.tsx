/** Things that need attention: failing webhooks and imports, tokens and identities that expire soon, open critical vulnerabilities. */
import { useQuery } from "@connectrpc/connect-query";
import { type AttentionItem, AttentionService, AttentionItem_Kind as Kind } from "@holt/api/gen/holt/v1/attention_pb.ts";
import {
  PackageVulnerability_State,
  type SharedVulnerability,
  VulnerabilitiesService,
  VulnerabilitySeverity,
} from "@holt/api/gen/holt/v1/vulnerabilities_pb.ts";
import { List, Stack, Text, Title } from "@mantine/core";
import { ErrorAlert } from "../frame/error-alert.tsx";
import { ScreenLink } from "../frame/screen-link.tsx";
import type { Search } from "../frame/search.ts";
import { parentOf } from "../object/parent-of.ts";
import { Time } from "../object/time.tsx";
import { useRights } from "../session/rights.ts";

const KINDS: Readonly<Record<number, { readonly title: string; readonly to: string; readonly isList?: boolean; readonly verb: string }>> = {
  [Kind.WEBHOOK]: { title: "Webhook", to: "/subscription", verb: "began to fail" },
  [Kind.KEY]: { title: "Keys of", to: "/identity", verb: "expire" },
  [Kind.PULL_TOKEN]: { title: "Pull token", to: "/pull-tokens", isList: true, verb: "expires" },
  [Kind.INVITE]: { title: "Invite", to: "/invites", isList: true, verb: "expires" },
  [Kind.IMPORT]: { title: "Import", to: "/import", verb: "failed" },
};
/** Vulnerabilities named on the screen. */
const MAX_VULNERABILITIES = 10;

export function Attention({ uid }: { readonly uid: string }) {
  const { may, missing } = useRights();
  const { listAttention } = AttentionService.method;
  const { data, error } = useQuery(listAttention, { uid }, { enabled: may(listAttention, uid) });
  const { listVulnerabilities } = VulnerabilitiesService.method;
  const open = { severities: [VulnerabilitySeverity.CRITICAL], state: PackageVulnerability_State.OPEN };
  const { data: critical } = useQuery(
    listVulnerabilities,
    { uid, ...open, pageSize: MAX_VULNERABILITIES },
    { enabled: may(listVulnerabilities, uid) },
  );
  const items = data?.items ?? [];
  const vulnerabilities = critical?.vulnerabilities ?? [];
  if (missing(listAttention, uid).length > 0) return null;
  const isQuiet = data !== undefined && items.length === 0 && vulnerabilities.length === 0;
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Needs attention
      </Title>
      {error !== null && <ErrorAlert error={error} title="This cannot be shown" />}
      {isQuiet && <Text>Nothing fails, and nothing expires soon.</Text>}
      {items.length + vulnerabilities.length > 0 && (
        <List aria-label="Needs attention" spacing={4}>
          {vulnerabilities.map((each) => (
            <CriticalItem
              key={`${each.vulnerability?.vulnerabilityId} ${each.vulnerability?.packageName} ${each.vulnerability?.packageVersion}`}
              item={each}
            />
          ))}
          {items.map((item) => (
            <Item key={item.uid} item={item} />
          ))}
        </List>
      )}
    </Stack>
  );
}

function Item({ item: { kind, uid, name, time } }: { readonly item: AttentionItem }) {
  const view = KINDS[kind];
  if (view === undefined) return null;
  const group = parentOf(uid);
  const search: Search = view.isList ? { group } : {};
  return (
    <List.Item>
      <ScreenLink to={view.to} {...(!view.isList && { uid })} search={search}>
        {view.title}
        {name !== "" && (
          <>
            {" "}
            <bdi>{name}</bdi>
          </>
        )}
      </ScreenLink>{" "}
      {view.verb} <Time value={time} />
    </List.Item>
  );
}

/** The advisories about a package say more about its vulnerability. */
function CriticalItem({ item: { vulnerability, imageCount } }: { readonly item: SharedVulnerability }) {
  const { vulnerabilityId = "", packageName = "", packageVersion = "", fixedVersions = [] } = vulnerability ?? {};
  return (
    <List.Item>
      <ScreenLink to="/advisories" search={{ alias: vulnerabilityId }}>
        <bdi>{vulnerabilityId}</bdi>
      </ScreenLink>{" "}
      is critical and open in {imageCount.toLocaleString("en")} {imageCount === 1n ? "image" : "images"}:{" "}
      <bdi>
        {packageName} {packageVersion}
      </bdi>
      {fixedVersions.length > 0 && `, fixed in ${fixedVersions.join(", ")}`}
    </List.Item>
  );
}
