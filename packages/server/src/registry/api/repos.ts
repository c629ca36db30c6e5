/** Image repositories: unique by name in their group, with tags below them and a readme beside. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type Repo, RepoSchema, ReposService } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { WriteCall } from "../../api/call/call.ts";
import { implement, read, write } from "../../api/call/implement.ts";
import { writableFields } from "../../api/resource/field-mask.ts";
import { assertName, assertNone } from "../../api/resource/names.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { create, isDuplicate, prepareUpdate, remove, save } from "../../api/resource/write.ts";
import { dropCounts, subtractCounts } from "../../db/resource-count.ts";
import type { ServiceDependencies } from "../../dependencies-services.ts";
import { alreadyExists, notFound } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { repos } from "../resources.ts";
import { overlayViolations } from "./custom-overlay.ts";
import { repoViolations } from "./fields.ts";
import { checkReadme, getReadme, readmeOf, storeReadme, updateReadme } from "./readmes.ts";
import { applySyncConfig, shareInherited } from "./sync-config.ts";

export function reposService(dependencies: ServiceDependencies) {
  return implement(ReposService, {
    ...standardMethods(ReposService, repos, dependencies.pageTokens),

    createRepo: write(async ({ parent, repo: given }, call) => {
      const repo = writableFields(RepoSchema, given as Repo);
      assertValid(repo, dependencies);
      await applySyncConfig(repo, undefined, call, dependencies);
      await assertNameFree(parent, repo, call);
      return create(repos, parent, repo, call).catch((thrown) => throwNameTaken(thrown, repo));
    }),

    updateRepo: write(async ({ repo, updateMask }, call) => {
      const { current, next } = await prepareUpdate(repos, repo as Repo, updateMask, call.db);
      assertValid(next, dependencies);
      await applySyncConfig(next, current, call, dependencies);
      if (next.name !== current.name) await assertNameFree(parentOf(next.uid), next, call);
      // What a repo had from its source, it keeps when it is not synced any more.
      if (next.syncConfig === undefined && current.syncConfig !== undefined)
        await storeReadme(next.uid, await readmeOf(next.uid, call.db), call.db);
      const saved = await save(repos, { current, next }, call).catch((thrown) => throwNameTaken(thrown, next));
      await shareInherited(current, next, call);
      return saved;
    }),

    deleteRepo: {
      kind: "write",
      prepare: ({ uid }) => dependencies.emptyRepo(uid),
      async handle({ uid }, call) {
        await deleteRepo(uid, call);
        return createMessage(EmptySchema);
      },
    },

    getRepoReadme: read(getReadme),

    updateRepoReadme: { kind: "write", prepare: checkReadme, handle: updateReadme },
  });
}

function assertValid(repo: Repo, { profile }: ServiceDependencies): void {
  assertName(repo.name);
  assertNone([...repoViolations(repo), ...(repo.customOverlay === undefined ? [] : overlayViolations(repo.customOverlay, profile))]);
}

/** The index would refuse the name too, but could not say which repo has it. */
async function assertNameFree(parent: string, repo: Repo, { db }: WriteCall): Promise<void> {
  const existing = await db.selectFrom("repo").select("uid").where("parent", "=", parent).where("name", "=", repo.name).executeTakeFirst();
  if (existing !== undefined) throw nameTaken({ name: repo.name, uid: existing.uid });
}

function throwNameTaken(thrown: unknown, repo: Repo): never {
  throw isDuplicate(thrown) ? nameTaken(repo) : thrown;
}

function nameTaken({ name, uid }: Pick<Repo, "name" | "uid">): Error {
  return alreadyExists(repos.kind, uid, `the group has a repo "${name}"`);
}

/** With its tags and their history, and by the database's own doing with its readme, manifests, links to blobs and uploads. */
async function deleteRepo(uid: string, { db }: WriteCall): Promise<void> {
  const locked = await db.dialect.forDelete(db.selectFrom("repo").select("uid").where("uid", "=", uid)).executeTakeFirst();
  if (locked === undefined) throw notFound(repos.kind, uid);
  for (const kind of ["tag", "plain_tag"] as const) await subtractCounts(db, kind, uid);
  await dropCounts(db, uid);
  await db.deleteFrom("tag").where("parent", "=", uid).execute();
  await db.deleteFrom("tag_history").where("repo_uid", "=", uid).execute();
  await remove(repos, uid, db);
}
