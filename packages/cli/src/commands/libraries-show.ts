/** holt libraries show: a library and its versions. */
import type { Verb } from "../command/verb.ts";
import { ecosystemNames, findLibrary, pathOfVersions } from "../libraries/find-library.ts";
import { readAll } from "../operations/call-list.ts";
import { formatBytes } from "../output/human.ts";
import type { Row } from "../output/output.ts";

const columns = [
  "version",
  { title: "SIZE", value: ({ sizeBytes }: Row) => formatBytes(Number(sizeBytes ?? 0)) },
  ...["createTime", "updateTime", "description", "uid"],
];

export const verb: Verb = {
  path: "libraries show",
  summary: "Show a library and its versions, newest first.",
  description: "-o csv prints the versions.",
  examples: ["holt libraries show requests", "holt libraries show my-org/team-a/com.example:app -o json"],
  arguments: [{ name: "library", help: "uid or name of the library, or the path of its group and its name" }],
  options: [{ name: "ecosystem", value: "NAME", values: ecosystemNames, help: "java or python, if both have the name" }],
  async run(invocation) {
    const { argument, session, output, signal } = invocation;
    const library = await findLibrary(argument("library"), invocation);
    const request = { method: "GET", path: pathOfVersions(library.uid) };
    const { rows: versions } = await readAll(session().rest, request, "artifactVersions", signal);
    const row = { ...library, versions };
    const isList = output.format === "csv" || output.format === "tree";
    if (!isList) await output.row(row, { columns: ["name", "ecosystem", "description", "latestVersion", "createTime", "uid"] });
    if (output.format !== "tree") output.say("");
    if (isList || output.format === "table" || output.format === "wide") await output.rows(versions, { columns, narrow: 3 });
  },
};
