/** The libraries of a part of the tree, and their files with hashes. Read-only: publishing writes them. */
import { create } from "@bufbuild/protobuf";
import {
  LibraryArtifactsService,
  type LibraryFile,
  LibraryFileSchema,
  type LibraryVersion,
  LibraryVersionSchema,
  ListLibraryArtifactsResponseSchema,
  type ListLibraryFilesRequest,
  type ListLibraryFilesResponse,
  ListLibraryFilesResponseSchema,
  ListLibraryVersionsResponseSchema,
} from "@holt/api/gen/holt/v1/library_artifacts_pb.ts";
import type { Call } from "../../api/call/call.ts";
import { type Handlers, implement, read } from "../../api/call/implement.ts";
import { getBody } from "../../api/resource/get.ts";
import { listPage, parsePageRequest } from "../../api/resource/list.ts";
import { listResponse } from "../../api/resource/list-text.ts";
import { bindingOf, type PageTokens } from "../../api/resource/page-token.ts";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromDate } from "../../lib/clock.ts";
import { artifacts } from "../artifacts-resource.ts";
import { pageOfVersions, type VersionRow } from "./artifact-versions.ts";
import { termsOf } from "./artifacts.ts";

export function libraryArtifactsService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  const handlers: Handlers<typeof LibraryArtifactsService> = {
    listLibraryArtifacts: read(async ({ ecosystem, ...request }, call) => {
      const terms = termsOf({ ...request, ecosystems: ecosystem === 0 ? [] : [ecosystem] }, call.db.dialect);
      return listResponse(ListLibraryArtifactsResponseSchema, await listPage(artifacts, request, call, { pageTokens, ...terms }));
    }),

    getLibraryArtifact: read(({ uid }, { db }) => getBody(artifacts, uid, db)),

    listLibraryVersions: read(async ({ uid, ...request }, call) => {
      const { name: _, rows, ...page } = await pageOfVersions({ ...request, artifactId: uid }, call, pageTokens);
      return create(ListLibraryVersionsResponseSchema, { versions: rows.map(versionOf), ...page });
    }),

    listLibraryFiles: read(async (request, call) => {
      await getBody(artifacts, request.uid, call.db);
      return listFiles(request, call, pageTokens);
    }),
  };
  return implement(LibraryArtifactsService, handlers, "LibraryArtifact");
}

async function listFiles(
  { uid, version, pageSize, pageToken }: ListLibraryFilesRequest,
  { db, now, operation, principal }: Call,
  tokens: PageTokens,
): Promise<ListLibraryFilesResponse> {
  const { limit } = parsePageRequest({ pageSize, skip: 0 });
  const binding = bindingOf({ operation, principal }, uid, version);
  const after = pageToken === "" ? "" : (tokens.open(pageToken, binding, now)?.key ?? "");
  const found = await readFiles({ uid, version, after, limit: limit + 1 }, db);
  const files = found.slice(0, limit);
  const last = found.length > limit ? files.at(-1) : undefined;
  const nextPageToken = last === undefined ? "" : tokens.seal({ key: last.path, uid: "", skipped: 0 }, binding, now);
  return create(ListLibraryFilesResponseSchema, { files, nextPageToken });
}

function versionOf({ uid, version, description, ...row }: VersionRow): LibraryVersion {
  return create(LibraryVersionSchema, {
    uid,
    version,
    description,
    createTime: timestampFromDate(new Date(row.create_time)),
    updateTime: timestampFromDate(new Date(row.update_time)),
    sizeBytes: BigInt(row.size_bytes),
    remediated: row.remediated === 1,
    cudaVersion: row.cuda_version ?? "",
    ...yankOf(row),
  });
}

function yankOf({ yank_time, yank_reason }: Pick<VersionRow, "yank_time" | "yank_reason">) {
  return yank_time === null ? {} : { yankTime: timestampFromDate(new Date(yank_time)), yankReason: yank_reason };
}

interface Window {
  readonly uid: string;
  readonly version: string;
  /** Path of the last file of the previous page. */
  readonly after: string;
  readonly limit: number;
}

async function readFiles({ uid, version, after, limit }: Window, db: ReadDb): Promise<LibraryFile[]> {
  // PostgreSQL allows no NUL in a text, so no version contains one.
  if (version.includes("\0")) return [];
  const all = db
    .selectFrom("library_file as f")
    .innerJoin("library_version as v", "v.uid", "f.version_uid")
    .select(["f.path", "f.size", "f.digest", "f.sha1", "f.md5", "f.sha512", "f.create_time", "f.actor"])
    .select(["v.version", "v.yank_time", "v.yank_reason"])
    .where("f.artifact_uid", "=", uid)
    .where("f.path", ">", after)
    .orderBy("f.path")
    .limit(limit);
  const rows = await (version === "" ? all : all.where("v.version", "=", version)).execute();
  return rows.map(({ size, digest, create_time, actor, ...row }) =>
    create(LibraryFileSchema, {
      path: row.path,
      version: row.version,
      size: BigInt(size),
      sha256: digest.replace(/^sha256:/, ""),
      sha1: row.sha1,
      md5: row.md5,
      sha512: row.sha512,
      createTime: timestampFromDate(new Date(create_time)),
      publisher: actor,
      ...yankOf(row),
    }),
  );
}
