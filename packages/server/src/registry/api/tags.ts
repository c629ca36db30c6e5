/** Tags: names of digests in a repo. A digest need not have been pushed. */
import { create as createMessage } from "@bufbuild/protobuf";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { type ListTagsRequest, type Tag, TagsService } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { sql } from "kysely";
import { type Handlers, implement, write } from "../../api/call/implement.ts";
import { findForUpdate } from "../../api/resource/get.ts";
import type { ListTerms } from "../../api/resource/list.ts";
import { assertNone } from "../../api/resource/names.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import { standardMethods } from "../../api/resource/standard-methods.ts";
import { type Condition, onColumn } from "../../api/resource/visible.ts";
import type { Dialect } from "../../db/dialect.ts";
import { parseTime } from "../../lib/clock.ts";
import { notFound } from "../../lib/errors.ts";
import { parentOf } from "../../lib/uid.ts";
import { lockRepo } from "../content/lock-repo.ts";
import { removeTag, upsertTag } from "../content/tags.ts";
import { areUndated, showDeprecation } from "../end-of-life/deprecation.ts";
import { TagClass, tags } from "../resources.ts";
import { bundleViolations, digestViolations, tagNameViolations } from "./fields.ts";

const ALL_CLASSES = TagClass.REFERRER | TagClass.DATE | TagClass.EPOCH;

export interface TagsCollaborators {
  readonly pageTokens: PageTokens;
  /** Whether a tag may be created without a digest, and a digest that is left out keeps the present one. */
  readonly allowsNoDigest?: boolean;
}

export function tagsService({ pageTokens, allowsNoDigest = false }: TagsCollaborators) {
  const handlers: Handlers<typeof TagsService> = {
    ...standardMethods(TagsService, tags, {
      pageTokens,
      listTerms: (request: ListTagsRequest, call) => listTermsOf(request, call.db.dialect),
      show: showDeprecation,
      isShownAsStored: areUndated,
    }),

    // Creates the tag, or moves the existing one of that name: a publisher need not know which.
    createTag: write(async ({ parent, tag: given }, call) => {
      const { name, digest, deprecated, bundles } = given as Tag;
      assertNone(tagNameViolations(name));
      const hasDigest = digest !== "" || !allowsNoDigest;
      assertNone([...(hasDigest ? digestViolations(digest) : []), ...bundleViolations(bundles)]);
      const { db, now, principal } = call;
      if (!(await lockRepo(db, parent))) throw notFound("Repo", parent);
      const fields = { deprecated, bundles };
      const actor = principal?.uid ?? "";
      const move = await upsertTag(db, { repoUid: parent, name, digest: hasDigest ? digest : undefined, fields, now, actor });
      call.changed = move.changed;
      return move.tag;
    }),

    // The repo comes first, as in all other changes of its tags: its deletion counts the tags that it deletes.
    deleteTag: write(async ({ uid }, call) => {
      await lockRepo(call.db, parentOf(uid));
      await removeTag(call.db, await findForUpdate(tags, uid, call.db), call.now);
      return createMessage(EmptySchema);
    }),
  };
  return implement(TagsService, handlers, "Tag", "Repo");
}

/** Tags that machines create are left out, unless the request includes their class or gives the name of a tag. */
export function listTermsOf(
  { name, includeReferrers, includeDates, includeEpochs, updatedSince }: ListTagsRequest,
  dialect: Dialect,
): ListTerms {
  const since = updatedSince === undefined ? [] : [updatedFrom(parseTime("updated_since", updatedSince), dialect)];
  const shown = (includeReferrers ? TagClass.REFERRER : 0) | (includeDates ? TagClass.DATE : 0) | (includeEpochs ? TagClass.EPOCH : 0);
  if (name !== "" || shown === ALL_CLASSES) return { conditions: since };
  const ofShown = ofClasses(shown, dialect);
  // SQLite would seek by the class, which most tags share, rather than by the time.
  const conditions = since.length === 0 ? [ofShown] : [...since, { seek: ofShown.test, test: ofShown.test }];
  return shown === 0 && updatedSince === undefined ? { conditions, counted: "plain_tag" } : { conditions };
}

function updatedFrom(time: string, dialect: Dialect): Condition {
  return onColumn("update_time", dialect, (column) => sql`${column} >= ${time}`);
}

/** Plain tags, and tags that belong to no class but the shown ones. */
function ofClasses(shown: number, dialect: Dialect): Condition {
  const name = `class ${shown}`;
  const known = CLASS_CONDITIONS.get(`${dialect.name} ${name}`);
  if (known !== undefined) return known;
  const combinations = Array.from({ length: ALL_CLASSES + 1 }, (_, bits) => bits).filter((bits) => (bits & ~shown) === 0);
  const list = sql.join(combinations.map((bits) => sql.lit(bits)));
  const { seek, test } = onColumn("class", dialect, (column) => sql`${column} in (${list})`);
  const condition: Condition = { seek, test, template: { name, value: undefined, build: () => condition } };
  CLASS_CONDITIONS.set(`${dialect.name} ${name}`, condition);
  return condition;
}

/** One for each dialect and combination of classes. */
const CLASS_CONDITIONS = new Map<string, Condition>();
