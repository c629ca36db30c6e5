/** Public content: groups and repositories that anybody may read without a login. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { PublicContent_Kind as Kind, type PublicContent, PublicContentService } from "@holt/api/gen/holt/v1/public_content_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, write } from "../../api/call/implement.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { insert, prepareCreate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import type { WriteDb } from "../../db/store.ts";
import { failedPrecondition, invalidArgument, notFound } from "../../lib/errors.ts";
import { rangeAtOrBelow, rootOf } from "../../lib/uid.ts";
import { capabilitiesOfKinds, publicContent, recordPublicChange } from "../public-content/public-content-resource.ts";
import { assertPublicNameFree } from "../public-content/unique-name.ts";
import { assertHoldsAll, type EscalationCollaborators } from "./escalation.ts";

/** Every server keeps all of them in memory. */
const MAX_OF_ORGANIZATION = 1000;

export interface PublicContentCollaborators extends EscalationCollaborators {
  readonly pageTokens: PageTokens;
  /** Whether the operator allows public content. */
  readonly allowsPublicContent: boolean;
}

export function publicContentService(collaborators: PublicContentCollaborators) {
  const { grants } = collaborators;
  return implement(PublicContentService, {
    ...standardMethods(PublicContentService, publicContent, collaborators),

    createPublicContent: write(async ({ parent, publicContent: given }, call) => {
      const content = prepareCreate(publicContent, given, call.now);
      assertAllowed(collaborators);
      await assertMayPublish(parent, content, call, collaborators);
      await assertOrganization(rootOf(parent), call.db);
      await assertPlace(parent, content, call.db);
      await recordPublicChange(call.db, grants);
      return insert(publicContent, parent, content, call);
    }),

    updatePublicContent: write(async (request, call) => {
      const update = await prepareUpdate(publicContent, request.publicContent, request.updateMask, call);
      const { uid } = update.next;
      const isMore = (capabilitiesOfKinds(update.next.kinds) & ~capabilitiesOfKinds(update.current.kinds)) !== 0n;
      if (isMore) assertAllowed(collaborators);
      if (isMore) await assertMayPublish(uid, update.next, call, collaborators);
      await assertPlace(uid, update.next, call.db);
      await recordPublicChange(call.db, grants);
      return save(publicContent, update, call);
    }),

    deletePublicContent: write(async ({ uid }, call) => {
      await remove(publicContent, uid, call.db);
      await recordPublicChange(call.db, grants);
      return createMessage(EmptySchema);
    }),
  });
}

/** @throws FAILED_PRECONDITION */
function assertAllowed({ allowsPublicContent }: PublicContentCollaborators): void {
  if (!allowsPublicContent) throw failedPrecondition("PUBLIC_CONTENT_OFF", "the operator of this server forbids public content");
}

/** Callers make public only what they may read themselves. */
function assertMayPublish(uid: string, { kinds }: PublicContent, call: WriteCall, collaborators: EscalationCollaborators): Promise<void> {
  return assertHoldsAll(capabilitiesOfKinds(kinds), uid, call, collaborators);
}

/** Locks the place, so that it is not deleted meanwhile. @throws NOT_FOUND; INVALID_ARGUMENT for packages of a repository */
async function assertPlace(uid: string, { kinds }: PublicContent, db: WriteDb): Promise<void> {
  const group = db.selectFrom("group").select("uid").where("uid", "=", uid);
  if ((await db.dialect.forKeyShare(group).executeTakeFirst()) !== undefined) return;
  const repo = db.selectFrom("repo").select("uid").where("uid", "=", uid);
  if ((await db.dialect.forKeyShare(repo).executeTakeFirst()) === undefined) throw notFound("Group", uid);
  if (kinds.some((kind) => kind !== Kind.IMAGES))
    throw invalidArgument("kinds", "a repository has only images: name its group for packages");
}

/**
 * Locks the organization, so that its limit holds.
 * @throws NOT_FOUND; FAILED_PRECONDITION if the organization has too much public content, or shares its name with
 * another that has some
 */
async function assertOrganization(uid: string, db: WriteDb): Promise<void> {
  const locked = db.dialect.forUpdate(db.selectFrom("group").select(["uid", "name", "verified"]).where("uid", "=", uid));
  const row = await locked.executeTakeFirst();
  if (row === undefined) throw notFound("Group", uid);
  await assertPublicNameFree(db, { ...row, verified: row.verified === 1 });
  const { lower, upper } = rangeAtOrBelow(uid);
  const query = db.selectFrom("public_content").select("uid").where("uid", ">=", lower).where("uid", "<", upper);
  if ((await query.limit(MAX_OF_ORGANIZATION).execute()).length < MAX_OF_ORGANIZATION) return;
  const message = `an organization has at most ${MAX_OF_ORGANIZATION} public groups and repositories: make a group public instead of its repositories`;
  throw failedPrecondition("TOO_MUCH_PUBLIC_CONTENT", message);
}
