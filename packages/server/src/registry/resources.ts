/** Declares repos and tags to the resource engine. The management API and pushes store the same rows, by the same rules. */
import { RepoSchema } from "@holt/api/gen/platform/registry/v2/repos_pb.ts";
import { TagSchema } from "@holt/api/gen/platform/registry/v2/tags_pb.ts";
import { defineResource } from "../api/resource/define.ts";
import { assertName, assertNone } from "../api/resource/names.ts";
import { repoViolations } from "./api/fields.ts";

export const repos = defineResource(RepoSchema, {
  table: "repo",
  columns: (repo) => ({ source: repo.syncConfig?.source || null }),
  filters: { name: "name" },
  orderBy: ["uid", "name", "create_time", "update_time"],
  check(repo) {
    assertName(repo.name);
    assertNone(repoViolations(repo));
  },
});

export const tags = defineResource(TagSchema, {
  table: "tag",
  columns: (tag) => ({ digest: tag.digest, class: classOf(tag.name) }),
  filters: { name: "name", digest: "digest" },
  orderBy: ["uid", "name", "update_time"],
});

/** Bits of the `class` column. */
export const TagClass = { REFERRER: 1, DATE: 2, EPOCH: 4 } as const;

/** Bits of TagClass that a tag's name matches; 0 for a plain tag. */
export function classOf(name: string): number {
  return (
    (name.startsWith("sha256-") ? TagClass.REFERRER : 0) |
    (/-20\d{6}$/.test(name) ? TagClass.DATE : 0) |
    (/-r\d+$/.test(name) ? TagClass.EPOCH : 0)
  );
}
