/** holt libraries ls: the Python and Java packages that the caller may see. */
import type { Verb } from "../command/verb.ts";
import { ecosystemNames, ecosystemsFrom } from "../libraries/find-library.ts";
import { listOptions, showList } from "../operations/call-list.ts";
import type { Row } from "../output/output.ts";

const columns = [
  {
    title: "ECOSYSTEM",
    value: ({ ecosystem }: Row) =>
      String(ecosystem ?? "")
        .replace("ECOSYSTEM_", "")
        .toLowerCase(),
  },
  ...["name", "latestVersion", "versionCount", "updateTime", "description", "uid"],
];

export const verb: Verb = {
  path: "libraries ls",
  summary: "List the Python and Java libraries that you may see.",
  examples: ["holt libraries ls requests --ecosystem python", "holt libraries ls --all -o csv"],
  arguments: [{ name: "query", optional: true, help: "only libraries whose names contain this text" }],
  options: [{ name: "ecosystem", value: "NAME", values: ecosystemNames, help: "only java or python" }, ...listOptions],
  async run(invocation) {
    const query = { ecosystems: ecosystemsFrom(invocation.option("ecosystem")), query: invocation.argument("query") || undefined };
    const request = { method: "GET", path: "/libraries/v2/artifacts", query };
    await showList({ request, items: "artifacts", view: { columns, narrow: 5 } }, invocation);
  },
};
