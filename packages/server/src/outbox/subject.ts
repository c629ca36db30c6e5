/** What an event is about: the uid it names and the group whose subscribers hear of it, read off the event's body message. */
import type { Message } from "@bufbuild/protobuf";
import { parentOf, rootOf } from "../lib/uid.ts";

export interface Subject {
  readonly subject: string;
  /** Uid of the group; `/` above an organization, the empty string for none. */
  readonly group: string;
  /** Extension attributes beside the group. */
  readonly extensions?: Readonly<Record<string, string>>;
}

/** A message whose event does not simply name its own uid and that uid's parent. */
const special: Readonly<Record<string, (message: never) => Subject>> = {
  "platform.iam.v2.Group": ofGroup,
  "platform.iam.v2.BatchCreateRoleBindingsResponse": ({ roleBindings }: { roleBindings: { uid: string }[] }) => {
    const group = parentOf(roleBindings[0]?.uid ?? "");
    return { subject: group, group };
  },
  "platform.iam.v2.IdentityMetadata": ({ uid }: { uid: string }) => ({ subject: uid, group: "" }),
  // Those who subscribe to an organization hear of its tags; a repo, their parent, is no group.
  "platform.registry.v2.Tag": ofOrganization,
  "platform.registry.v2.DeleteTagRequest": ofOrganization,
  "platform.iam.v2.GenerateScimTokenResponse": ofProvider,
  "platform.iam.v2.RegenerateScimTokenResponse": ofProvider,
  "platform.iam.v2.RevokeScimTokenResponse": ofProvider,
  "platform.iam.v2.SetScimEnabledResponse": ofProvider,
  "platform.iam.v2.ExternalGroupRoleMapping": ({ uid }: { uid: string }) => ofMapping(uid, parentOf(uid)),
  "platform.iam.v2.DeleteExternalGroupRoleMappingRequest": ({ uid }: { uid: string }) => ofMapping(uid, parentOf(uid)),
  "platform.iam.v2.BatchDeleteExternalGroupRoleMappingsResponse": ({ parent }: { parent: string }) => ofMapping(parent, parent),
  // It has the uid of its group.
  "platform.iam.v2.AccountAssociation": ofGroup,
  "platform.iam.v2.DeleteAccountAssociationRequest": ofGroup,
  "platform.iam.v2.AcceptTermsResponse": ({ group }: { group: string }) => ofGroup({ uid: group }),
  "platform.auth.v1.Session": ({ group }: { group: string }) => ({ subject: "", group }),
};

function ofGroup({ uid }: { uid: string }): Subject {
  return { subject: uid, group: uid };
}

function ofOrganization({ uid }: { uid: string }): Subject {
  return { subject: uid, group: rootOf(uid) };
}

function ofProvider({ identityProviderUid }: { identityProviderUid: string }): Subject {
  return { subject: identityProviderUid, group: parentOf(identityProviderUid) };
}

/** An identity provider is no group either. */
function ofMapping(subject: string, identityProviderUid: string): Subject {
  return { subject, group: rootOf(subject), extensions: { identityprovider: identityProviderUid } };
}

export function subjectOf(body: Message): Subject {
  const rule = special[body.$typeName];
  if (rule !== undefined) return rule(body as never);
  const { uid } = body as unknown as { uid?: string };
  if (uid === undefined) throw new Error(`${body.$typeName}: no rule says what its event is about`);
  return { subject: uid, group: parentOf(uid) };
}
