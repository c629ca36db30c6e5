/** Handlers of version 1 for tags: the digest may be left out, and tags can be updated and renamed. */
import { create } from "@bufbuild/protobuf";
import { Registry, type Tag, TagHistoryListSchema, TagSchema } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import type { Tag as TagV2 } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import type { WriteCall } from "../../../api/call/call.ts";
import { type Handlers, read, write } from "../../../api/call/implement.ts";
import { find, findForUpdate } from "../../../api/resource/get.ts";
import { assertNone } from "../../../api/resource/names.ts";
import { deriveMethods } from "../../../api/v1/derive-methods.ts";
import { parseTime, timestampFromText } from "../../../lib/clock.ts";
import { alreadyExists, notFound } from "../../../lib/errors.ts";
import { parentOf } from "../../../lib/uid.ts";
import { lockRepo } from "../../content/lock-repo.ts";
import { readTagHistory } from "../../content/tag-history.ts";
import { changeTag } from "../../content/tags.ts";
import { tags } from "../../resources.ts";
import { bundleViolations, digestViolations, tagNameViolations } from "../fields.ts";
import { type TagsCollaborators, tagsService } from "../tags.ts";
import { registryDifferences as differences } from "./differences.ts";

export function tagHandlers({ pageTokens }: TagsCollaborators): Handlers<typeof Registry> {
  return {
    ...deriveMethods(Registry, { services: [tagsService({ pageTokens, allowsNoDigest: true })], kind: "Tag", differences }),

    updateTag: write(async (given, call) => {
      const { db, now, principal } = call;
      // As pushes do. A tag cannot exist without its repo.
      if (!(await lockRepo(db, parentOf(given.id)))) throw notFound(tags.kind, given.id);
      const current = await findForUpdate(tags, given.id, db);
      const changes = changesOf(given, current);
      if (changes.name !== current.name) await assertNameFree(current, changes.name, call);
      const { tag, changed } = await changeTag(db, current, changes, { now, actor: principal?.uid ?? "" });
      call.changed = changed;
      return tagV1Of(tag);
    }),

    listTagHistory: read(async ({ parentId, start, end }, { db }) => {
      const tag = await find(tags, parentId, db);
      const range = {
        start: start && new Date(parseTime("start", start)),
        end: end && new Date(parseTime("end", end, Math.floor)),
      };
      const history = tag === undefined ? [] : await readTagHistory(db, parentOf(tag.uid), tag.name, range);
      const items = history.map(({ time, digest }) => ({ updateTimestamp: timestampFromText(time), digest }));
      return create(TagHistoryListSchema, { items });
    }),
  };
}

/** All fields, as an update of version 1 replaces the tag. A name or digest that is left out stays. */
function changesOf({ name, digest, deprecated, bundles }: Tag, current: TagV2) {
  const changes = { name: name || current.name, digest: digest || current.digest, deprecated, bundles };
  assertNone(tagNameViolations(changes.name));
  assertNone([...(digest === "" ? [] : digestViolations(digest)), ...bundleViolations(bundles)]);
  return changes;
}

async function assertNameFree({ uid }: TagV2, name: string, { db }: WriteCall): Promise<void> {
  const parent = parentOf(uid);
  const other = await db.selectFrom("tag").select("uid").where("parent", "=", parent).where("name", "=", name).executeTakeFirst();
  if (other !== undefined) throw alreadyExists(tags.kind, other.uid, `the repo has a tag "${name}"`);
}

function tagV1Of({ uid, name, digest, updateTime, deprecated, bundles }: TagV2): Tag {
  return create(TagSchema, { id: uid, name, digest, deprecated, bundles, ...(updateTime && { lastUpdated: updateTime }) });
}
