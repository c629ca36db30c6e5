/** Identities, which act: those created in a group, and the users in root, which belong to no group. */
import { create as createMessage, equals } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  IdentitiesService,
  type Identity,
  IdentitySchema,
  LookupIdentityResponseSchema,
  RelationshipType,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { sql } from "kysely";
import { implement, read, write } from "../../api/call/implement.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertName } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { isUid } from "../../lib/uid.ts";
import { deleteBindings } from "../grants/bindings.ts";
import { userIdentityUid } from "../identities/user-identity.ts";
import { assertHoldsAllOf, type EscalationCollaborators } from "./escalation.ts";
import { updateIdentityMetadata } from "./identity-metadata.ts";
import { assertRelationship, settleExpiration } from "./identity-relationship.ts";
import { isWithoutPeople, showIdentities } from "./show-identities.ts";
import { visibleUsers } from "./visible-users.ts";

const TYPES: Readonly<Record<string, RelationshipType>> = {
  claimMatch: RelationshipType.CLAIM_MATCH,
  staticKeys: RelationshipType.STATIC,
  awsIdentity: RelationshipType.AWS_IDENTITY,
  servicePrincipal: RelationshipType.SERVICE_PRINCIPAL,
};

export const identities = defineResource(IdentitySchema, {
  table: "identity",
  columns: (identity) => ({
    relationship_type: TYPES[identity.relationship.case ?? ""] ?? RelationshipType.UNSPECIFIED,
    accepted_uid: acceptedUid(identity),
  }),
  filters: { name: "name", relationshipType: "relationship_type" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  check(identity, now, current) {
    assertName(identity.name);
    assertRelationship(identity, now, current);
  },
});

function acceptedUid({ relationship }: Identity): string | null {
  const { sub } = relationship.case === "claimMatch" ? relationship.value : {};
  return sub?.case === "subject" && isUid(sub.value) ? sub.value : null;
}

/** An email address that a list adds to an identity. */
const MAX_EMAIL_BYTES = 300;

export interface IdentitiesCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
}

export function identitiesService(collaborators: IdentitiesCollaborators) {
  const { grants, pageTokens } = collaborators;
  return implement(IdentitiesService, {
    ...standardMethods(IdentitiesService, identities, {
      pageTokens,
      listTerms: (_request, call) => ({ rootRows: () => visibleUsers(call) }),
      show: showIdentities,
      isShownAsStored: isWithoutPeople,
      bytesOfRow: sql`octet_length(body) + ${MAX_EMAIL_BYTES}`,
    }),

    createIdentity: write(async ({ parent, identity: given }, call) => {
      const identity = prepareCreate(identities, given, call.now);
      settleExpiration(identity, call.now);
      identity.lastSeenTime = timestampFromDate(call.now);
      return create(identities, parent, identity, call);
    }),

    updateIdentity: write(async ({ identity, updateMask }, call) => {
      const update = await prepareUpdate(identities, identity, updateMask, call);
      const { current, next } = update;
      settleExpiration(next, call.now, current);
      if (!isSameRelationship(current, next)) await assertHoldsAllOf(current.uid, call, collaborators);
      return save(identities, update, call);
    }),

    deleteIdentity: write(async ({ uid }, call) => {
      await remove(identities, uid, call.db);
      // The bindings of all groups.
      await deleteBindings(call.db, "identity_uid", uid);
      await grants.recordChange(call.db, [uid]);
      return createMessage(EmptySchema);
    }),

    lookupIdentity: read(async ({ issuer, subject }) =>
      createMessage(LookupIdentityResponseSchema, { uid: userIdentityUid(issuer, subject) }),
    ),

    updateIdentityMetadata: write(updateIdentityMetadata),
  });
}

function isSameRelationship(a: Identity, b: Identity): boolean {
  const relationship = (identity: Identity) => createMessage(IdentitySchema, { relationship: identity.relationship });
  return equals(IdentitySchema, relationship(a), relationship(b));
}
