/** Group invites in version 1 of the API, where a request has the fields of the invite next to its group. */
import { create as createMessage, type JsonObject } from "@bufbuild/protobuf";
import {
  type GroupInviteFilter,
  type GroupInviteRequest,
  GroupInviteRequestSchema,
  GroupInvites,
  GroupInviteSchema as GroupInviteV1Schema,
} from "@holt/api/gen/platform/iam/v1/group_invites_pb.ts";
import { type GroupInvite, GroupInviteSchema, type ListGroupInvitesRequest } from "@holt/api/gen/platform/iam/v2/group_invites_pb.ts";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { JsonText, type WriteCall } from "../../api/call/call.ts";
import { implement, type ServiceImplementation, write } from "../../api/call/implement.ts";
import { create, prepareCreate } from "../../api/resource/write.ts";
import { compileJsonConverter } from "../../api/v1/convert-json.ts";
import { compileMessageConverter } from "../../api/v1/convert-message.ts";
import { deriveMethods } from "../../api/v1/derive-methods.ts";
import type { Differences } from "../../api/v1/field-pairs.ts";
import { confineToChildren } from "../../api/v1/list-all.ts";
import { invalidArgument, permissionDenied } from "../../lib/errors.ts";
import { createInvite, groupInvites } from "../api/group-invites.ts";
import { groups } from "../api/groups.ts";
import { isStaff, type StaffCollaborators } from "../api/staff.ts";
import { builtInRoles } from "../grants/built-in-roles.ts";
import type { InviteMailParts } from "../joining/invite-mail.ts";
import { roleDifferences } from "./roles.ts";

const OWNER = builtInRoles.find((role) => role.name === "owner")!;

const differences: Differences = {
  ...roleDifferences,
  "platform.iam.v1.GroupInviteRequest": { absent: ["group"], renamed: { role: "role_uid" }, parent: "group" },
  "platform.iam.v1.GroupInviteFilter": {
    absent: ["group"],
    received: ({ group }: GroupInviteFilter, request: ListGroupInvitesRequest) => confineToChildren(request, group),
  },
};

const fromV1 = compileMessageConverter(GroupInviteRequestSchema, GroupInviteSchema, differences);
const toV1 = compileJsonConverter(GroupInviteSchema, GroupInviteV1Schema, differences);

export function groupInvitesServiceV1(invites: ServiceImplementation, collaborators: StaffCollaborators & InviteMailParts) {
  const derived = deriveMethods(GroupInvites, { services: [invites], kind: "GroupInvite", differences });
  const createWithGroup = write<typeof GroupInvites.method.createWithGroup>((request, call) => inviteOwner(request, call, collaborators));
  return implement(GroupInvites, { ...derived, createWithGroup }, "GroupInvite");
}

/** Creates an organization of which the caller is not an owner, and an invite for its owner. `group` is its name. */
async function inviteOwner(request: GroupInviteRequest, call: WriteCall, collaborators: StaffCollaborators & InviteMailParts) {
  if (request.role !== "" && request.role !== OWNER.uid) throw invalidArgument("role", "must be the role owner, or empty");
  const invite = prepareCreate(
    groupInvites,
    fromV1(createMessage(GroupInviteRequestSchema, { ...request, role: OWNER.uid })) as GroupInvite,
    call.now,
  );
  const group = prepareCreate(groups, createMessage(GroupSchema, { name: request.group }), call.now);
  if (!isStaff(call, "", collaborators))
    throw permissionDenied("only the operator may create an organization for somebody else", { capability: "internal" });
  await create(groups, "", group, call);
  const { text } = await createInvite(group.uid, invite, call, collaborators);
  return new JsonText(GroupInviteV1Schema, JSON.stringify(toV1(JSON.parse(text) as JsonObject)));
}
