/** Handlers of version 1 for the state of syncing: whether changed fields of a source are on their way to a repo. */
import { create } from "@bufbuild/protobuf";
import {
  type Registry,
  SyncStatus_Status as Status,
  type SyncStatus,
  SyncStatusListSchema,
  SyncStatusSchema,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { MAX_ROWS } from "../../../api/v1/list-all.ts";
import type { ReadDb } from "../../../db/store.ts";
import { dateFromTimestamp, timestampFromText } from "../../../lib/clock.ts";
import { notFound, resourceExhausted } from "../../../lib/errors.ts";
import { messageFromJson } from "../../../lib/proto-json.ts";
import { rangeAtOrBelow } from "../../../lib/uid.ts";
import { type Follower, mayFollow, type SyncGrants } from "../../sync/sync-right.ts";

export function syncStatusHandlers({ grants }: { readonly grants: SyncGrants }) {
  return {
    getSyncStatus: read(async ({ repoId }, { db, now }) => {
      const repo = await reposOf(db).where("repo.uid", "=", repoId).executeTakeFirst();
      if (repo === undefined) throw notFound("Repo", repoId);
      return repo.source === null ? create(SyncStatusSchema) : statusOf(repo, now, grants);
    }),

    listSyncStatuses: read(async ({ registryId }, { db, now }) => {
      const { lower, upper } = rangeAtOrBelow(registryId);
      const rows = await reposOf(db)
        .where("repo.source", "is not", null)
        .where("repo.uid", ">=", lower)
        .where("repo.uid", "<", upper)
        .orderBy("repo.uid")
        .limit(MAX_ROWS + 1)
        .execute();
      if (rows.length > MAX_ROWS)
        throw resourceExhausted(`more than ${MAX_ROWS} repos are synced here; ask for the groups below one by one, or for single repos`);
      const items = [];
      for (const row of rows) items.push({ repoId: row.uid, repoStatus: await statusOf(row, now, grants) });
      return create(SyncStatusListSchema, { items });
    }),
  } satisfies Handlers<typeof Registry>;
}

/** Repos with the entry of their source in the queue, if it has one, and with the source, if it exists. */
function reposOf(db: ReadDb) {
  return db
    .selectFrom("repo")
    .leftJoin("repo as origin", "origin.uid", "repo.source")
    .leftJoin("repo_share as share", "share.source_uid", "repo.source")
    .select(["repo.uid as uid", "repo.source as source", "repo.source_by as source_by", "repo.body as body"])
    .select(["origin.uid as origin", "share.after as after", "share.request_time as request_time", "share.lease_time as lease_time"]);
}

interface SyncedRow extends Omit<Follower, "source"> {
  readonly source: string | null;
  readonly body: string;
  readonly origin: string | null;
  readonly after: string | null;
  readonly request_time: string | null;
  readonly lease_time: string | null;
}

/** UNKNOWN means that nothing is on its way: the repo has the fields of its source. */
async function statusOf(row: SyncedRow, now: Date, grants: SyncGrants): Promise<SyncStatus> {
  const { uid, source, origin, after, request_time, lease_time } = row;
  const expiration = messageFromJson(RepoSchema, row.body).syncConfig?.expirationTime;
  const hasExpired = expiration !== undefined && dateFromTimestamp(expiration) <= now;
  if (source === null || origin === null || hasExpired || !(await mayFollow({ ...row, source }, grants)))
    return create(SyncStatusSchema, { status: Status.FAILED });
  // Repos up to `after` have the fields already.
  if (request_time === null || (after !== null && after >= uid)) return create(SyncStatusSchema);
  const isRunning = lease_time !== null && lease_time > now.toISOString();
  return create(SyncStatusSchema, { status: isRunning ? Status.IN_PROGRESS : Status.QUEUED, createTime: timestampFromText(request_time) });
}
