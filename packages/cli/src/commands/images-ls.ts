/** holt images ls: the tags of a repository with their digests. */
import type { Verb } from "../command/verb.ts";
import { listOptions, showList } from "../operations/call-list.ts";

export const verb: Verb = {
  path: "images ls",
  summary: "List the tagged images of a repository.",
  description: "Tags that contain a date or an epoch, and those that cosign makes, are left out unless --all-tags is given.",
  examples: ["holt images ls my-org/team-a/app", "holt images ls app --all-tags -o csv"],
  arguments: [{ name: "repo", kind: "repo", help: "uid, name or path of the repository" }],
  options: [{ name: "all-tags", help: "also tags with dates or epochs, and those of signatures and SBOMs" }, ...listOptions],
  async run(invocation) {
    const { argument, uid, isSet } = invocation;
    const all = isSet("all-tags") ? { include_dates: "true", include_epochs: "true", include_referrers: "true" } : {};
    const query = { "uidp.children_of": await uid("repo", argument("repo")), order_by: "name", ...all };
    const view = { columns: ["name", "digest", "updateTime", "deprecated", "uid"], narrow: 4 };
    await showList({ request: { method: "GET", path: "/registry/v2/tags", query }, items: "tags", view }, invocation);
  },
};
