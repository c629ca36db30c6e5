/** The name of the organization of the address. */
import { useQuery } from "@connectrpc/connect-query";
import { GroupsService } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { useOrganization } from "./organization.ts";

/** @returns a general word to people who may read groups of the organization only */
export function useOrganizationName(): string {
  const { data, isError } = useQuery(GroupsService.method.getGroup, { uid: useOrganization() });
  return data?.name ?? (isError ? "Organization" : "…");
}
