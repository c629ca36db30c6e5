/** Handlers of version 1 for repos: a repo contains its readme, and Create updates a repo of the same name. */

import { create } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import {
  type CreateRepoRequest,
  type GetRepoCountBySourceRequest,
  type Registry,
  Registry as RegistryService,
  type Repo,
  type RepoCount,
  RepoCountSchema,
  RepoSchema,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { UpdateRepoReadmeRequestSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import { assertHolds } from "../../../api/call/authorize.ts";
import { type Call, messageOf, type Reply, type WriteCall } from "../../../api/call/call.ts";
import { type Handlers, read, type WriteHandler } from "../../../api/call/implement.ts";
import { deriveMethods } from "../../../api/v1/derive-methods.ts";
import { LIST_REPOS, type SyncGrants } from "../../sync/sync-right.ts";
import { checkReadme, readmeOf, updateReadme } from "../readmes.ts";
import { type ReposCollaborators, reposService } from "../repos.ts";
import { registryDifferences as differences } from "./differences.ts";
import { saveOwnFields } from "./own-fields.ts";
import { BYTES_WITH_README, showReadmes } from "./show-readmes.ts";

const UPDATE = capabilitySet([Capability.CAP_REPO_UPDATE]);

type Method = typeof Registry.method;
type Derived = { readonly createRepo: WriteHandler<Method["createRepo"]>; readonly updateRepo: WriteHandler<Method["updateRepo"]> };

interface Parts extends Pick<ReposCollaborators, "grants" | "parsers"> {
  /** Operations of version 2, converted; they know no readme. */
  readonly derived: Derived;
}

export function repoHandlers(collaborators: ReposCollaborators): Handlers<typeof Registry> {
  const { grants, parsers } = collaborators;
  const show = (bodies: readonly string[], { db }: Call) => showReadmes(bodies, db, grants);
  const v2 = reposService({ ...collaborators, acceptsSyncOutputs: true, show, bytesOfRow: BYTES_WITH_README });
  const derived = deriveMethods(RegistryService, { services: [v2], kind: "Repo", differences });
  const parts: Parts = { grants, parsers, derived: derived as Derived };
  return {
    ...derived,
    createRepo: createOrUpdate(parts),
    updateRepo: {
      kind: "write",
      prepare: ({ readme }, call) => prepare(readme, call, parts),
      handle: (given, call) => update(given, call, parts),
    },
    getRepoCountBySource: read(countBySource),
  };
}

function createOrUpdate(parts: Parts): WriteHandler<Method["createRepo"]> {
  return {
    kind: "write",
    prepare: ({ repo }, call) => prepare(repo?.readme ?? "", call, parts),
    async handle(request, call) {
      const id = request.preventExisting ? undefined : await lockExisting(request, call);
      const given = request.repo ?? create(RepoSchema);
      if (id === undefined) return complete(await parts.derived.createRepo.handle(request, call, undefined), given, { call, parts });
      // Even a reply without a change shows what the request left out.
      if (!call.access.holds(LIST_REPOS, id)) await assertMayUpdate(id, call);
      const updated = await update({ ...given, id }, call, parts);
      if (call.changed) await assertMayUpdate(id, call);
      return updated;
    },
  };
}

function prepare(readme: string, call: Call, { parsers }: Parts): Promise<unknown> {
  return readme === "" ? Promise.resolve(undefined) : checkReadme(readme, "readme", call, parsers);
}

async function update(given: Repo, call: WriteCall, { derived, grants }: Parts): Promise<Repo> {
  const repo = messageOf(await derived.updateRepo.handle(given, call, undefined)) as Repo;
  await saveOwnFields(given, repo, call);
  // An update that leaves out the readme of a synced repo asks for no change: it is that of its source.
  if (given.readme === "" && repo.syncConfig !== undefined)
    return Object.assign(repo, { readme: await readmeOf(given.id, call.db, grants) });
  await saveReadme({ uid: given.id, content: given.readme }, call, grants);
  return Object.assign(repo, { readme: given.readme });
}

/** An unchanged readme does not undo that the call has changed the repo. */
async function saveReadme(readme: { readonly uid: string; readonly content: string }, call: WriteCall, grants: SyncGrants): Promise<void> {
  const { changed } = call;
  const request = create(UpdateRepoReadmeRequestSchema, { repoReadme: readme, updateMask: { paths: ["content"] } });
  await updateReadme(request, call, grants, "readme");
  call.changed ||= changed;
}

/** Adds what only version 1 has to the reply of a creation. */
async function complete(reply: Reply, given: Repo, { call, parts }: { readonly call: WriteCall; readonly parts: Parts }): Promise<Repo> {
  const repo = messageOf(reply) as Repo;
  const { readme } = given;
  await saveOwnFields(given, repo, call);
  if (readme !== "") await saveReadme({ uid: repo.id, content: readme }, call, parts.grants);
  repo.readme = repo.syncConfig === undefined ? readme : await readmeOf(repo.id, call.db, parts.grants);
  return repo;
}

async function countBySource({ id }: GetRepoCountBySourceRequest, { db }: Call): Promise<RepoCount> {
  const { n } = await db
    .selectFrom("repo")
    .select((eb) => eb.fn.countAll().as("n"))
    .where("source", "=", id)
    .executeTakeFirstOrThrow();
  return create(RepoCountSchema, { count: BigInt(n) });
}

/**
 * The repo of that name. Waits for other creations in the group, so that none finds the name taken. Those of version 2 lock the group
 * against deletion, so the lock has to exclude those, too.
 */
async function lockExisting({ parentId, repo }: CreateRepoRequest, { db }: WriteCall): Promise<string | undefined> {
  await db.dialect.forDelete(db.selectFrom("group").select("uid").where("uid", "=", parentId)).execute();
  const name = repo?.name ?? "";
  const row = await db.selectFrom("repo").select("uid").where("parent", "=", parentId).where("name", "=", name).executeTakeFirst();
  return row?.uid;
}

function assertMayUpdate(uid: string, { access, db }: WriteCall): Promise<void> {
  return assertHolds({ kind: "Repo", uid }, UPDATE, access, db);
}
