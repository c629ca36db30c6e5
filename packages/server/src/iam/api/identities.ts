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
import { type RawBuilder, sql } from "kysely";
import type { Call } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { inRanges, listCapabilities } from "../../api/resource/conditions.ts";
import { defineResource } from "../../api/resource/define.ts";
import { assertName } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { type RootRows, rootRowsOf } from "../../api/resource/selection.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { IS_IN_ROOT } from "../../api/resource/visible.ts";
import { create, prepareCreate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import type { Dialect } from "../../db/dialect.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { isUid, rangeAtOrBelow, rootOf, type UidRange } from "../../lib/uid.ts";
import { deleteBindings } from "../grants/bindings.ts";
import { userIdentityUid } from "../identities/user-identity.ts";
import { assertHoldsAllOf, type EscalationCollaborators } from "./escalation.ts";
import { updateIdentityMetadata } from "./identity-metadata.ts";
import { assertRelationship, settleExpiration } from "./identity-relationship.ts";
import { isWithoutPeople, showIdentities } from "./show-identities.ts";

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

/**
 * Users stand in root. The caller sees itself, and every user that is bound in a group where the caller may list identities and that
 * has joined the organization. Filters and orders must not reveal others.
 */
function visibleUsers(call: Call): RootRows {
  const self = call.principal?.uid ?? "";
  const { dialect } = call.db;
  const scopes = call.access.scopes(listCapabilities(call));
  const [scope, ...others] = scopes;
  if (scope === undefined || others.length > 0) {
    const organizations = sql`select org.value from ${dialect.valuesOf([...new Set(scopes.map(rootOf))])} as org`;
    return { condition: usersBoundIn({ ranges: scopes.map(rangeAtOrBelow), organizations, self }, dialect) };
  }
  return rootRowsOf({
    name: "users",
    values: { self, organization: rootOf(scope), ...rangeAtOrBelow(scope) },
    build(value) {
      const ranges = [{ lower: value("lower"), upper: value("upper") }];
      return usersBoundIn({ ranges, organizations: sql`${value("organization")}`, self: value("self") }, dialect);
    },
  });
}

interface UsersTerms {
  readonly ranges: readonly UidRange[];
  /** Those of the ranges: a list of values, or a query. */
  readonly organizations: RawBuilder<unknown>;
  readonly self: string;
}

/** Starts with the people of the organizations, because an organization may have many more bindings than people. */
function usersBoundIn({ ranges, organizations, self }: UsersTerms, dialect: Dialect): RawBuilder<boolean> {
  const bound = sql`select 1 from role_binding where identity_uid = m.identity_uid and length(identity_uid) = 40
    and substr(parent, 1, 40) = m.org_uid and ${inRanges(ranges, "role_binding", "parent", dialect)}`;
  const people = sql`select m.identity_uid from membership as m
    where m.org_uid in (${organizations}) and m.state = 'joined' and exists (${bound})`;
  return sql<boolean>`(${IS_IN_ROOT} and uid in (select ${self} union all ${people}))`;
}
