/** Draws a chain of access: identity → binding → role → capability. The arrows are texts, so that screen readers say them. */
import { useQuery } from "@connectrpc/connect-query";
import type { Grant } from "@holt/api/gen/holt/v1/access_pb.ts";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { IdentitiesService } from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { ScreenLink } from "../frame/screen-link.tsx";
import classes from "./chain.module.css";

export interface ChainProps {
  readonly grant: Grant;
  readonly identity: string;
  /** Name of the capability. */
  readonly capability: string;
  /** Whether the role has the capability. */
  readonly isGiven: boolean;
}

export function Chain({ grant, identity, capability, isGiven }: ChainProps) {
  const { groupUid, roleUid, roleName, roleBindingUid, inherited } = grant;
  return (
    <div className={classes.chain}>
      <Link kind="Identity">
        <IdentityLink uid={identity} />
      </Link>
      <Arrow />
      <Link kind={roleBindingUid === "" ? "Mapped group" : "Binding"}>
        {roleBindingUid === "" ? "mapped at " : "binding at "}
        <GroupLink uid={groupUid} />
        {inherited && " (inherited)"}
      </Link>
      <Arrow />
      <Link kind="Role">
        role{" "}
        <ScreenLink to="/role" uid={roleUid} underline="always">
          <bdi>{roleName}</bdi>
        </ScreenLink>
      </Link>
      <Arrow isBroken={!isGiven} />
      <Link kind="Capability" isBroken={!isGiven}>
        {isGiven ? capability : `no ${capability}`}
      </Link>
    </div>
  );
}

interface LinkProps {
  readonly kind: string;
  readonly isBroken?: boolean;
  readonly children: ReactNode;
}

function Link({ kind, isBroken, children }: LinkProps) {
  return (
    <span className={classes.link} data-broken={isBroken || undefined}>
      <Text span size="xs" c="dimmed" display="block" aria-hidden>
        {kind}
      </Text>
      {children}
    </span>
  );
}

function Arrow({ isBroken = false }: { readonly isBroken?: boolean }) {
  return <span className={classes.arrow}>{isBroken ? " ↛ " : " → "}</span>;
}

/** Shows the uid of an identity that the person may not read. The list answers nothing then, instead of an error. */
function IdentityLink({ uid }: { readonly uid: string }) {
  const { data: { identities: [data] = [] } = {} } = useQuery(IdentitiesService.method.listIdentities, { uidp: { ids: [uid] } });
  return (
    <ScreenLink to="/identity" uid={uid} underline="always">
      <bdi>{data?.name || data?.email || uid}</bdi>
    </ScreenLink>
  );
}

function GroupLink({ uid }: { readonly uid: string }) {
  const { data: { groups: [data] = [] } = {} } = useQuery(GroupsService.method.listGroups, { uidp: { ids: [uid] } });
  return (
    <ScreenLink to="/group" uid={uid} search={{ tab: "access" }} underline="always">
      <bdi>{data?.name || uid}</bdi>
    </ScreenLink>
  );
}
