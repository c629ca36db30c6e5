/** The list of version 1 that shows tags with their end of life, in pages. */
import { create } from "@bufbuild/protobuf";
import { type EndOfLife, EndOfLife_State as State } from "@holt/api/gen/holt/v1/end_of_life_pb.ts";
import {
  type EolTag,
  type EolTagFilter,
  EolTagListSchema,
  EolTagSchema,
  EolGracePeriodStatus as Grace,
  PackageVersionSchema,
  type Registry,
  EolTagStatus as Status,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { ListTagsRequestSchema, type Tag, TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import { listPage } from "../../../api/resource/list.ts";
import type { PageTokens } from "../../../api/resource/page-token.ts";
import { dateFromTimestamp } from "../../../lib/clock.ts";
import { messageFromJson } from "../../../lib/proto-json.ts";
import { type Life, livesOf } from "../../end-of-life/lives.ts";
import { tags } from "../../resources.ts";
import { listTermsOf } from "../tags.ts";

/** `page_size` has 64 bits here, and 32 in other lists. All sizes above 200 mean 200. */
const MAX_PAGE_SIZE = 200n;

export function eolTagHandlers({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return {
    listEolTags: read(async (filter, call) => {
      const request = requestOf(filter);
      const page = await listPage(tags, request, call, { pageTokens, ...listTermsOf(request, call.db.dialect) });
      const lives = await livesOf(page.uids(), call);
      const items = page.bodies.texts.map((body) => {
        const tag = messageFromJson(TagSchema, body);
        return eolTagOf(tag, lives.get(tag.uid));
      });
      return create(EolTagListSchema, { items, nextPageToken: page.nextPageToken });
    }),
  } satisfies Handlers<typeof Registry>;
}

function requestOf({ uidp, name, pageToken, pageSize, excludeDates, excludeEpochs }: EolTagFilter) {
  return create(ListTagsRequestSchema, {
    ...(uidp && { uidp }),
    name,
    pageToken,
    pageSize: Number(pageSize > MAX_PAGE_SIZE ? MAX_PAGE_SIZE : pageSize < 0n ? -1n : pageSize),
    includeDates: !excludeDates,
    includeEpochs: !excludeEpochs,
    // Leaves out tags of signatures and SBOMs, which have no end of life.
    includeReferrers: false,
  });
}

function eolTagOf({ uid: id, name, deprecated }: Tag, life: Life | undefined): EolTag {
  const endOfLife = life?.endOfLife;
  const tag = create(EolTagSchema, { id, name, mainPackageName: endOfLife?.mainPackageName ?? "" });
  tag.tagStatus = statusOf(endOfLife, deprecated);
  tag.graceStatus = graceOf(life);
  if (endOfLife?.mainPackageVersion) tag.mainPackageVersion = versionOf(endOfLife);
  if (endOfLife?.endTime !== undefined && life?.hasGracePeriod) tag.gracePeriodExpiryDate = endOfLife.endTime;
  return tag;
}

/** A tag that its owner has marked as deprecated is inactive, regardless of its date. */
function statusOf(endOfLife: EndOfLife | undefined, deprecated: boolean): Status {
  if (deprecated || endOfLife?.state === State.ENDED) return Status.TAG_INACTIVE;
  return endOfLife?.state === State.IN_GRACE ? Status.TAG_IN_GRACE : Status.TAG_ACTIVE;
}

function graceOf(life: Life | undefined): Grace {
  if (life === undefined || !life.hasGracePeriod) return Grace.GRACE_NOT_ELIGIBLE;
  const { state } = life.endOfLife;
  if (state === State.ENDED) return Grace.GRACE_EXPIRED;
  return state === State.IN_GRACE ? Grace.GRACE_ACTIVE : Grace.GRACE_ELIGIBLE;
}

function versionOf({ mainPackageVersion: version, eolTime, releaseTime, lts }: EndOfLife) {
  const dayOf = (time: EndOfLife["eolTime"]) => (time === undefined ? "" : dateFromTimestamp(time).toISOString().slice(0, 10));
  return create(PackageVersionSchema, { version, exists: true, lts, eolDate: dayOf(eolTime), releaseDate: dayOf(releaseTime) });
}
