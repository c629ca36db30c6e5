/** Identities: who acts. Those made in a group, and the users in root, whom no group owns. */
import { create as createMessage, equals } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import {
  IdentitiesService,
  type Identity,
  IdentitySchema,
  ListIdentitiesResponseSchema,
  LookupIdentityResponseSchema,
  RelationshipType,
} from "@holt/api/gen/platform/iam/v2/identities_pb.ts";
import { type RawBuilder, sql } from "kysely";
import type { Call } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { atOrBelow, listCapabilities } from "../../api/resource/conditions.ts";
import { defineResource } from "../../api/resource/define.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { listPage, listResponse } from "../../api/resource/list.ts";
import { assertName } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { IS_IN_ROOT } from "../../api/resource/visible.ts";
import { create, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { isUid } from "../../lib/uid.ts";
import { deleteBindings } from "../grants/bindings.ts";
import { userIdentityUid } from "../identities/user-identity.ts";
import { assertHoldsAllOf } from "./escalation.ts";
import { updateIdentityMetadata } from "./identity-metadata.ts";
import { assertRelationship } from "./identity-relationship.ts";

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
});

function acceptedUid({ relationship }: Identity): string | null {
  const { sub } = relationship.case === "claimMatch" ? relationship.value : {};
  return sub?.case === "subject" && isUid(sub.value) ? sub.value : null;
}

export function identitiesService(dependencies: ServiceDependencies) {
  const { grants, pageTokens } = dependencies;
  return implement(IdentitiesService, {
    ...standardMethods(IdentitiesService, identities, pageTokens),

    listIdentities: read(async (request, call) =>
      listResponse(ListIdentitiesResponseSchema, await listPage(identities, request, call, pageTokens, { beside: visibleUsers(call) })),
    ),

    createIdentity: write(async ({ parent, identity: given }, call) => {
      const identity = writableFields(IdentitySchema, given as Identity);
      assertName(identity.name);
      assertRelationship(identity, call.now);
      identity.lastSeenTime = timestampFromDate(call.now);
      return create(identities, parent, identity, call);
    }),

    updateIdentity: write(async ({ identity, updateMask }, call) => {
      const update = await prepareUpdate(identities, identity as Identity, updateMask, call.db);
      assertName(update.next.name);
      assertRelationship(update.next, call.now, update.current);
      if (!isSameRelationship(update.current, update.next)) await assertHoldsAllOf(update.current.uid, call, dependencies);
      return save(identities, update, call);
    }),

    deleteIdentity: write(async ({ uid }, call) => {
      await remove(identities, uid, call.db);
      // Wherever they were made.
      await deleteBindings(call.db, "identity_uid", uid);
      await grants.changed(call.db, [uid]);
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

/** Users stand in root: the caller sees itself, and whoever is bound in a group where it may list identities. */
function visibleUsers(call: Call): RawBuilder<boolean> {
  const self = call.principal?.uid ?? "";
  const scopes = call.access.scopes(listCapabilities(call));
  const inScope = atOrBelow(scopes, "role_binding", "parent", call.db.dialect);
  const bound = sql`select identity_uid from role_binding where length(identity_uid) = 40 and ${inScope}`;
  return sql<boolean>`(${IS_IN_ROOT} and (uid = ${self} or uid in (${bound})))`;
}
