/**
 * Lists the versions of an artifact in the order of its ecosystem. Versions are not a resource: they are visible to callers who may list
 * the artifact.
 */
import { create } from "@bufbuild/protobuf";
import {
  ArtifactSchema,
  ArtifactVersionSchema,
  type ListArtifactVersionsRequest,
  type ListArtifactVersionsResponse,
  ListArtifactVersionsResponseSchema,
} from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import type { Call } from "../../api/call/call.ts";
import { listCapabilities } from "../../api/resource/conditions.ts";
import { parsePageRequest } from "../../api/resource/list.ts";
import { type Order, parseOrderBy } from "../../api/resource/order-by.ts";
import { cutPage } from "../../api/resource/page-bytes.ts";
import { bindingOf, type PageTokens, type Position, skippedUntil } from "../../api/resource/page-token.ts";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { isUid } from "../../lib/uid.ts";

const ORDERS = { orderBy: ["version", "create_time", "update_time"], defaultOrder: "version desc" };

/** A stored version. */
export interface VersionRow {
  readonly uid: string;
  readonly key: string;
  readonly version: string;
  readonly description: string;
  readonly create_time: string;
  readonly update_time: string;
  readonly size_bytes: number;
  readonly remediated: number;
  readonly cuda_version: string | null;
  readonly yank_time: string | null;
  readonly yank_reason: string;
}

export type VersionsRequest = Pick<ListArtifactVersionsRequest, "artifactId" | "pageSize" | "pageToken" | "skip" | "orderBy">;

export interface VersionPage {
  /** Name of the artifact. */
  readonly name: string;
  readonly rows: readonly VersionRow[];
  readonly nextPageToken: string;
  readonly totalCount: bigint;
  readonly skipped: number;
}

/** @throws NOT_FOUND if the artifact does not exist, or the caller may not list it */
export async function listVersions(
  request: ListArtifactVersionsRequest,
  call: Call,
  tokens: PageTokens,
): Promise<ListArtifactVersionsResponse> {
  const { name, rows, ...page } = await pageOfVersions(request, call, tokens);
  return create(ListArtifactVersionsResponseSchema, { artifactVersions: rows.map((row) => versionOf(row, name)), ...page });
}

/** @throws NOT_FOUND if the artifact does not exist, or the caller may not list it */
export async function pageOfVersions(
  { artifactId, pageSize, pageToken, skip, orderBy }: VersionsRequest,
  call: Call,
  tokens: PageTokens,
): Promise<VersionPage> {
  const { limit } = parsePageRequest({ pageSize, skip });
  const order = parseOrderBy(orderBy, ORDERS);
  const artifact = await findArtifact(artifactId, call);
  const binding = bindingOf(call, artifactId, order.column, order.descending);
  const after = pageToken === "" ? undefined : tokens.open(pageToken, binding, call.now);
  const found = await readRows({ artifactUid: artifactId, order, after, skip, limit: limit + 1 }, call.db);
  const skipped = skippedUntil(after, skip);
  const { rows, hasMore } = cutPage(found, limit, ({ version, description }) => Buffer.byteLength(version + description));
  const last = hasMore ? rows.at(-1) : undefined;
  return {
    name: artifact.name,
    rows,
    nextPageToken: last === undefined ? "" : tokens.seal({ key: last.key, uid: last.uid, skipped }, binding, call.now),
    totalCount: BigInt(artifact.versionCount),
    skipped,
  };
}

async function findArtifact(uid: string, call: Call) {
  const isVisible = isUid(uid) && call.access.holds(listCapabilities(call), uid);
  const row = isVisible ? await call.db.selectFrom("library_artifact").select("body").where("uid", "=", uid).executeTakeFirst() : undefined;
  if (row === undefined) throw notFound("Artifact", uid.slice(0, 200));
  return messageFromJson(ArtifactSchema, row.body);
}

interface Window {
  readonly artifactUid: string;
  readonly order: Order;
  readonly after: Position | undefined;
  readonly skip: number;
  readonly limit: number;
}

async function readRows({ artifactUid, order, after, skip, limit }: Window, db: ReadDb): Promise<VersionRow[]> {
  const { column, descending } = order;
  const key = sql.ref(column === "version" ? "sort_key" : column);
  const direction = descending ? sql`desc` : sql`asc`;
  const beyond = after === undefined ? sql`1 = 1` : sql`(${key}, uid) ${descending ? sql`<` : sql`>`} (${after.key}, ${after.uid})`;
  const { rows } = await sql<VersionRow>`
    select uid, ${key} as key, version, description, create_time, update_time, size_bytes, remediated, cuda_version, yank_time, yank_reason
    from library_version
    where artifact_uid = ${artifactUid} and ${beyond} order by ${key} ${direction}, uid ${direction} limit ${limit} offset ${skip}`.execute(
    db,
  );
  return rows;
}

function versionOf({ uid, version, description, create_time, update_time, size_bytes }: VersionRow, name: string) {
  return create(ArtifactVersionSchema, {
    uid,
    name,
    version,
    description,
    createTime: timestampFromDate(new Date(create_time)),
    updateTime: timestampFromDate(new Date(update_time)),
    sizeBytes: BigInt(size_bytes),
  });
}
