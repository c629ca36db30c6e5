/** Handlers of version 1 that sum up the tags of a repo. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { UIDPFilterSchema } from "@holt/api/gen/platform/common/v1/uidp_pb.ts";
import {
  type GetRepoTagsSummaryRequest,
  ManifestDigestCountSchema,
  type Registry,
  RepoTagsSummarySchema,
  type Tag,
  TagSchema as TagV1Schema,
  UpdateStatusSchema,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ListTagsRequestSchema, TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { sql } from "kysely";
import type { Call } from "../../../api/call/call.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { listPage } from "../../../api/resource/list.ts";
import type { PageTokens } from "../../../api/resource/page-token.ts";
import { compileJsonConverter } from "../../../api/v1/convert-json.ts";
import { messageFromJson } from "../../../lib/proto-json.ts";
import { rangeAtOrBelow } from "../../../lib/uid.ts";
import { showDeprecation } from "../../end-of-life/deprecation.ts";
import { TagClass, tags } from "../../resources.ts";
import { listTermsOf } from "../tags.ts";
import { registryDifferences } from "./differences.ts";

/** How long ago the last change of a tag may be for its repo to count as recently updated. */
const RECENT_MS = 24 * 60 * 60 * 1000;
const tagV1Of = compileJsonConverter(TagSchema, TagV1Schema, registryDifferences);

export function tagSummaryHandlers({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return {
    getRepoTagsSummary: read(async (request, call) => {
      const { repoId } = request;
      const newest = await listNewest(request, call, pageTokens);
      const tagCount = BigInt(newest.count);
      if (newest.tag === undefined) return create(RepoTagsSummarySchema, { id: repoId, tagCount });
      const latestTag = (await findLatest(repoId, call)) ?? newest.tag;
      const latestVersion = await findVersion(request, latestTag, call);
      const { lastUpdated } = newest.tag;
      return create(RepoTagsSummarySchema, { id: repoId, tagCount, latestTag, latestVersion, ...(lastUpdated && { lastUpdated }) });
    }),

    getUpdateStatus: read(async ({ repoId }, { db, now }) => {
      const since = new Date(now.getTime() - RECENT_MS).toISOString();
      const recent = await db
        .selectFrom("tag")
        .select("uid")
        .where("parent", "=", repoId)
        .where("update_time", ">=", since)
        .limit(1)
        .executeTakeFirst();
      return create(UpdateStatusSchema, { recentlyUpdated: recent !== undefined });
    }),

    // Repos can share a digest, which then counts once for each of them.
    getManifestDigestCount: read(async ({ parentId }, { db }) => {
      const { lower, upper } = rangeAtOrBelow(parentId);
      const { n } = await db
        .selectFrom("manifest")
        .select((eb) => eb.fn.countAll().as("n"))
        .where("repo_uid", ">=", lower)
        .where("repo_uid", "<", upper)
        .executeTakeFirstOrThrow();
      return create(ManifestDigestCountSchema, { count: BigInt(n) });
    }),
  } satisfies Handlers<typeof Registry>;
}

interface Newest {
  /** Tags under the filter. */
  readonly count: number;
  /** Undefined if there is none. */
  readonly tag: Tag | undefined;
}

async function listNewest(request: GetRepoTagsSummaryRequest, call: Call, pageTokens: PageTokens): Promise<Newest> {
  const list = create(ListTagsRequestSchema, {
    uidp: create(UIDPFilterSchema, { childrenOf: request.repoId }),
    pageSize: 1,
    orderBy: "update_time desc",
    ...classesOf(request),
  });
  const { bodies, totalCount = 0 } = await listPage(tags, list, call, { pageTokens, ...listTermsOf(list, call.db.dialect) });
  const [newest] = bodies.texts;
  return { count: totalCount, tag: newest === undefined ? undefined : await tagFromBody(newest, call) };
}

function classesOf({ excludeReferrers, excludeDates, excludeEpochs }: GetRepoTagsSummaryRequest) {
  return { includeReferrers: !excludeReferrers, includeDates: !excludeDates, includeEpochs: !excludeEpochs };
}

async function tagFromBody(body: string, call: Call): Promise<Tag> {
  const [shown = body] = await showDeprecation([body], call);
  return messageFromJson(TagV1Schema, JSON.stringify(tagV1Of(JSON.parse(shown) as JsonObject)));
}

async function findLatest(repoUid: string, call: Call): Promise<Tag | undefined> {
  const query = call.db.selectFrom("tag").select("body").where("parent", "=", repoUid).where("name", "=", "latest");
  const row = await query.executeTakeFirst();
  return row && tagFromBody(row.body, call);
}

/** The longest name of the same digest, which says most about the version; the empty string if there is no other name. */
async function findVersion(request: GetRepoTagsSummaryRequest, { digest }: Tag, { db }: Call): Promise<string> {
  if (digest === "") return "";
  const { excludeReferrers, excludeDates, excludeEpochs } = request;
  const hidden = (excludeReferrers ? TagClass.REFERRER : 0) | (excludeDates ? TagClass.DATE : 0) | (excludeEpochs ? TagClass.EPOCH : 0);
  const row = await db
    .selectFrom("tag")
    .select("name")
    .where("parent", "=", request.repoId)
    .where("digest", "=", digest)
    .where("name", "not in", ["latest", "latest-dev"])
    .where(sql<boolean>`class & ${sql.lit(hidden)} = 0`)
    .orderBy((eb) => eb.fn("length", ["name"]), "desc")
    .orderBy("name", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.name ?? "";
}
