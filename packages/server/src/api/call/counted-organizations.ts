/** Finds the organizations whose limits of calls per second a call counts for. */
import type { Message } from "@bufbuild/protobuf";
import type { UIDPFilter } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import type { Access } from "../../access/capabilities.ts";
import { rootOf } from "../../lib/uid.ts";
import type { Operation } from "./operation.ts";

/** Only operators have rights in more organizations. */
const MAX_ORGANIZATIONS = 16;

const NONE: readonly string[] = [];

/** Fields of requests that name a place in the tree, in operations whose handlers find their scope by themselves. */
const PLACES = ["parent", "parentId", "group", "groupUid", "organization", "uid"] as const;
type Places = Partial<Record<(typeof PLACES)[number], unknown>> & { readonly uidp?: UIDPFilter | undefined };

/**
 * A call counts where it acts. A list without a filter reads all organizations of its caller. Uids that the caller may
 * not see count nowhere: callers without rights must not use up the limits of an organization.
 */
export function countedOrganizations({ access: rule, writes }: Operation, request: Message, access: Access): readonly string[] {
  if (rule.mode === "scoped") return [rootOf(rule.scopeOf(request))];
  // Operations on the caller's own account ask for no capability.
  if (rule.mode !== "unscoped" || rule.capabilities === 0n) return NONE;
  const named = namedUids(request as Places);
  if (named.length > 0) return [...new Set(named.filter((uid) => access.reaches(uid)).map(rootOf))];
  return writes ? NONE : access.organizations().slice(0, MAX_ORGANIZATIONS);
}

function namedUids(request: Places): string[] {
  const { ancestorsOf = "", descendantsOf = "", childrenOf = "", ids = [] } = request.uidp ?? {};
  const given = [ancestorsOf, descendantsOf, childrenOf, ...ids, ...PLACES.map((name) => request[name])];
  return given.filter((uid): uid is string => typeof uid === "string" && uid !== "" && uid !== "/");
}
