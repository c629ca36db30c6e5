/** Handlers of version 1 for the state of syncing: whether changed fields of a source are on their way to a repo. */
import { create } from "@bufbuild/protobuf";
import {
  type Registry,
  type RepoSyncStatus,
  RepoSyncStatusSchema,
  SyncStatus_Status as Status,
  type SyncStatus,
  SyncStatusListSchema,
  SyncStatusSchema,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { RepoSchema, SyncConfigSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { sql } from "kysely";
import { assertConnected } from "../../../api/call/assert-connected.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import type { ReadDb } from "../../../db/store.ts";
import { isLeaseHeld } from "../../../jobs/lease.ts";
import { timestampFromText } from "../../../lib/clock.ts";
import { notFound, resourceExhausted } from "../../../lib/errors.ts";
import { rangeAtOrBelow } from "../../../lib/uid.ts";
import { type Follower, mayFollow, type SyncGrants } from "../../sync/sync-right.ts";
import { SHARE_LEASE_MS } from "../../tables.ts";

const ROWS_PER_PAGE = 200;
const MAX_ROWS_PER_RESPONSE = 10_000;

export function syncStatusHandlers({ grants }: { readonly grants: SyncGrants }) {
  return {
    getSyncStatus: read(async ({ repoId }, { db, now }) => {
      const repo = await reposOf({ db, now }).where("repo.uid", "=", repoId).executeTakeFirst();
      if (repo === undefined) throw notFound("Repo", repoId);
      return repo.source === null ? create(SyncStatusSchema) : statusOf(repo, now, grants);
    }),

    listSyncStatuses: read(async ({ registryId }, call) => {
      const items: RepoSyncStatus[] = [];
      for (let page: readonly SyncedRow[] = []; ; ) {
        page = await syncedPage(call, registryId, page.at(-1)?.uid);
        if (items.length + page.length > MAX_ROWS_PER_RESPONSE) throw tooMany();
        for (const row of page)
          items.push(create(RepoSyncStatusSchema, { repoId: row.uid, repoStatus: await statusOf(row, call.now, grants) }));
        if (page.length < ROWS_PER_PAGE) return create(SyncStatusListSchema, { items });
        assertConnected(call);
      }
    }),
  } satisfies Handlers<typeof Registry>;
}

interface Reading {
  readonly db: ReadDb;
  readonly now: Date;
}

/** @param after uid of the last repo of the page before */
function syncedPage(call: Reading, registryId: string, after = ""): Promise<SyncedRow[]> {
  const { lower, upper } = rangeAtOrBelow(registryId);
  return reposOf(call)
    .where("repo.source", "is not", null)
    .where("repo.uid", ">=", lower)
    .where("repo.uid", ">", after)
    .where("repo.uid", "<", upper)
    .orderBy("repo.uid")
    .limit(ROWS_PER_PAGE)
    .execute();
}

function tooMany(): Error {
  return resourceExhausted(
    `more than ${MAX_ROWS_PER_RESPONSE} repos are synced here; ask for the groups below one by one, or for single repos`,
  );
}

/** Repos with the entry of their source in the queue, if it has one, and with the source, if it exists. */
function reposOf({ db, now }: Reading) {
  const isRunning = sql<number>`case when ${isLeaseHeld(now, SHARE_LEASE_MS)} then 1 else 0 end`;
  return db
    .selectFrom("repo")
    .leftJoin("repo as origin", "origin.uid", "repo.source")
    .leftJoin("repo_share as share", "share.source_uid", "repo.source")
    .select(["repo.uid as uid", "repo.source as source", "repo.source_by as source_by", expirationOf(db).as("expiration")])
    .select(["origin.uid as origin", "share.after as after", "share.request_time as request_time", isRunning.as("is_running")]);
}

/** Read from the body by the database: a body may be large. */
function expirationOf({ dialect }: ReadDb) {
  const { syncConfig } = RepoSchema.field;
  const { expirationTime } = SyncConfigSchema.field;
  return sql<
    string | null
  >`${dialect.asJson(sql.ref("repo.body"))} -> ${sql.lit(syncConfig.jsonName)} ->> ${sql.lit(expirationTime.jsonName)}`;
}

interface SyncedRow extends Omit<Follower, "source"> {
  readonly source: string | null;
  /** In RFC 3339. */
  readonly expiration: string | null;
  readonly origin: string | null;
  readonly after: string | null;
  readonly request_time: string | null;
  readonly is_running: number;
}

/** UNKNOWN means that nothing is on its way: the repo has the fields of its source. */
async function statusOf(row: SyncedRow, now: Date, grants: SyncGrants): Promise<SyncStatus> {
  const { uid, source, expiration, origin, after, request_time, is_running } = row;
  const hasExpired = expiration !== null && new Date(expiration) <= now;
  if (source === null || origin === null || hasExpired || !(await mayFollow({ ...row, source }, grants)))
    return create(SyncStatusSchema, { status: Status.FAILED });
  // Repos up to `after` have the fields already.
  if (request_time === null || (after !== null && after >= uid)) return create(SyncStatusSchema);
  const status = is_running === 1 ? Status.IN_PROGRESS : Status.QUEUED;
  return create(SyncStatusSchema, { status, createTime: timestampFromText(request_time) });
}
