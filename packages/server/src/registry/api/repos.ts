/** Image repositories: unique by name in their group, each with tags and a readme. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Repo, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { type Handlers, implement, read, write } from "../../api/call/implement.ts";
import { assertName, assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { type Reading, standardMethods } from "../../api/resource/standard-methods.ts";
import { create, prepareCreate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import { dropCounts, subtractCounts } from "../../db/resource-count.ts";
import type { Grants } from "../../iam/grants/grants.ts";
import { forgetPublicContent } from "../../iam/public-content/public-content-resource.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { alreadyExists, notFound } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import type { VendorProfile } from "../../lib/vendor-profile.ts";
import type { EmptyRepo } from "../content/empty-repo.ts";
import { repos as storedRepos } from "../resources.ts";
import { hasSameInherited } from "../sync/inherited-fields.ts";
import { requestSharing } from "../sync/share-queue.ts";
import { overlayViolations } from "./custom-overlay.ts";
import { repoViolations } from "./fields.ts";
import { checkReadme, getReadme, readmeOf, storeReadme, updateReadme } from "./readmes.ts";
import { applySyncConfig, type SyncConfigCollaborators } from "./sync-config.ts";

export interface ReposCollaborators extends SyncConfigCollaborators, Pick<Reading, "show" | "bytesOfRow"> {
  readonly pageTokens: PageTokens;
  readonly profile: VendorProfile;
  readonly emptyRepo: EmptyRepo;
  readonly grants: SyncConfigCollaborators["grants"] & Pick<Grants, "recordChange">;
  readonly parsers: Parsers;
  /** Called when a repo's fields are queued to be copied to the repos that are synced from it. */
  onShare(): void;
}

export function reposService(collaborators: ReposCollaborators) {
  const { onShare } = collaborators;
  const repos = { ...storedRepos, check: (repo: Repo) => assertValid(repo, collaborators.profile), nameTaken };
  const handlers: Handlers<typeof ReposService> = {
    ...standardMethods(ReposService, repos, collaborators),

    createRepo: write(async ({ parent, repo: given }, call) => {
      const repo = prepareCreate(repos, given, call.now);
      const sourceBy = await applySyncConfig({ next: repo, current: undefined, place: parent }, call, collaborators);
      await assertNameFree(parent, repo, call);
      const created = await create(repos, parent, repo, call);
      await recordSourceBy(repo.uid, sourceBy, call);
      return created;
    }),

    updateRepo: write(async ({ repo, updateMask }, call) => {
      const update = await prepareUpdate(repos, repo, updateMask, call);
      const { current, next } = update;
      const sourceBy = await applySyncConfig({ next, current, place: next.uid }, call, collaborators);
      if (next.name !== current.name) await assertNameFree(parentOf(next.uid), next, call);
      // When syncing ends, the repo keeps the readme of its source.
      if (next.syncConfig === undefined && current.syncConfig !== undefined)
        await storeReadme(next.uid, await readmeOf(next.uid, call.db, collaborators.grants), call.db);
      const saved = await save(repos, update, call);
      if (next.syncConfig !== undefined || current.syncConfig !== undefined) await recordSourceBy(next.uid, sourceBy, call);
      if (!hasSameInherited(current, next) && (await requestSharing(call.db, next.uid, call.now))) call.db.afterCommit(onShare);
      return saved;
    }),

    deleteRepo: {
      kind: "write",
      prepare: ({ uid }) => collaborators.emptyRepo(uid),
      async handle({ uid }, call) {
        await deleteRepo(uid, call, collaborators);
        return createMessage(EmptySchema);
      },
    },

    getRepoReadme: read((request, call) => getReadme(request, call, collaborators.grants)),

    updateRepoReadme: {
      kind: "write",
      prepare: ({ repoReadme }, call) => checkReadme(repoReadme?.content ?? "", "content", call, collaborators.parsers),
      handle: (request, call) => updateReadme(request, call, collaborators.grants, "content"),
    },
  };
  return implement(ReposService, handlers, "Repo");
}

function assertValid(repo: Repo, profile: VendorProfile): void {
  assertName(repo.name);
  assertNone([...repoViolations(repo), ...(repo.customOverlay === undefined ? [] : overlayViolations(repo.customOverlay, profile))]);
}

async function recordSourceBy(uid: string, source_by: string | null, { db }: WriteCall): Promise<void> {
  await db.updateTable("repo").set({ source_by }).where("uid", "=", uid).execute();
}

/** The unique index would refuse the name too, but could not say which repo has it. */
async function assertNameFree(parent: string, repo: Repo, { db }: WriteCall): Promise<void> {
  const existing = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", repo.name).executeTakeFirst();
  if (existing !== undefined) throw nameTaken({ name: repo.name, uid: existing.uid });
}

function nameTaken({ name, uid }: Pick<Repo, "name" | "uid">): Error {
  return alreadyExists(storedRepos.kind, uid, `the group has a repo "${name}"`);
}

/** Deletes the repo with its tags and their history. Foreign keys delete its readme, manifests, links to blobs, and uploads. */
async function deleteRepo(uid: string, { db }: WriteCall, { grants }: ReposCollaborators): Promise<void> {
  const locked = await db.dialect.forDelete(db.selectFrom("repo").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound(storedRepos.kind, uid);
  await forgetPublicContent(uid, db, grants);
  for (const kind of ["tag", "plain_tag"] as const) await subtractCounts(db, kind, uid);
  await dropCounts(db, uid);
  await db.deleteFrom("tag").where("parent", "=", uid).execute();
  await db.deleteFrom("tag_history").where("repo_uid", "=", uid).execute();
  await remove(storedRepos, uid, db);
}
