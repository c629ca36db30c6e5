/** The readme of a repo. A synced repo shows the readme of its source. */
import { create } from "@bufbuild/protobuf";
import { type RepoReadme, RepoReadmeSchema, type UpdateRepoReadmeRequest } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import type { Call, WriteCall } from "../../api/call/call.ts";
import { applyMask } from "../../api/resource/field-mask.ts";
import { findForUpdate } from "../../api/resource/get.ts";
import type { ReadDb, WriteDb } from "../../db/store.ts";
import type { Parsers } from "../../jobs/parsers.ts";
import { invalidArgument, notFound } from "../../lib/errors.ts";
import { repos } from "../resources.ts";
import { MAX_CHAIN_LENGTH, mayFollow, type SyncGrants } from "../sync/sync-right.ts";
import { readmeParser } from "./readme-parser.ts";

/** Ample for text. */
const MAX_BYTES = 256 * 1024;

export async function getReadme({ uid }: { uid: string }, { db }: Call, grants: SyncGrants): Promise<RepoReadme> {
  return create(RepoReadmeSchema, { uid, content: await readmeOf(uid, db, grants) });
}

/** The field of a request that has the readme: version 1 has it in the repo. */
export type ReadmeField = "content" | "readme";

/** Runs before the transaction, since rendering takes long. @throws INVALID_ARGUMENT on the field */
export async function checkReadme(content: string, field: ReadmeField, call: Call, parsers: Parsers): Promise<undefined> {
  if (Buffer.byteLength(content) > MAX_BYTES) throw invalidArgument(field, `readme must have at most ${MAX_BYTES} bytes`);
  if (content.includes("\0")) throw invalidArgument(field, "readme must not contain NUL");
  const isSafe = await parsers.run(readmeParser, content, call.principal?.uid ?? "");
  if (!isSafe) throw invalidArgument(field, "readme contained unsafe html content");
}

export async function updateReadme(
  { repoReadme, updateMask }: UpdateRepoReadmeRequest,
  call: WriteCall,
  grants: SyncGrants,
  field: ReadmeField,
): Promise<RepoReadme> {
  const incoming = repoReadme as RepoReadme;
  const { uid, syncConfig } = await findForUpdate(repos, incoming.uid, call.db);
  const current = create(RepoReadmeSchema, { uid, content: await readmeOf(uid, call.db, grants) });
  const next = applyMask(RepoReadmeSchema, current, incoming, updateMask);
  call.changed = next.content !== current.content;
  if (!call.changed) return current;
  if (syncConfig !== undefined) throw invalidArgument(field, "the readme of a synced repo is that of its source; change it there");
  await storeReadme(uid, next.content, call.db);
  return next;
}

export async function storeReadme(uid: string, content: string, db: WriteDb): Promise<void> {
  await db
    .insertInto("repo_readme")
    .values({ uid, content })
    .onConflict((conflict) => conflict.column("uid").doUpdateSet({ content }))
    .execute();
}

/** The readme of the last repo in the chain of sources that may be read. @throws NOT_FOUND */
export async function readmeOf(uid: string, db: ReadDb, grants: SyncGrants): Promise<string> {
  let row = await find(uid, db);
  if (row === undefined) throw notFound(repos.kind, uid);
  for (let hops = 0; row.source !== null && hops < MAX_CHAIN_LENGTH; hops++) {
    if (!(await mayFollow({ ...row, source: row.source }, grants))) break;
    const source = await find(row.source, db);
    if (source === undefined) break;
    row = source;
  }
  return row.content ?? "";
}

interface Found {
  readonly uid: string;
  readonly source: string | null;
  readonly source_by: string | null;
  readonly content: string | null;
}

function find(uid: string, db: ReadDb): Promise<Found | undefined> {
  return db
    .selectFrom("repo")
    .leftJoin("repo_readme", "repo_readme.uid", "repo.uid")
    .select(["repo.uid", "repo.source", "repo.source_by", "repo_readme.content"])
    .where("repo.uid", "=", uid)
    .executeTakeFirst();
}
