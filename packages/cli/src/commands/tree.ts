/** holt tree: the groups below a group, and what they contain. */
import { chosen } from "../command/chosen.ts";
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import type { ListedKind } from "../names/kinds.ts";
import { kinds } from "../names/kinds.ts";
import { readPages } from "../operations/call-list.ts";
import { shownText } from "../output/cell.ts";
import type { Row } from "../output/output.ts";
import { tree } from "../output/tree.ts";
import { paint } from "../terminal/color.ts";
import { startProgress } from "../terminal/progress.ts";

const SHOWN: Readonly<Record<string, ListedKind>> = { repos: "repo", identities: "identity", roles: "role" };

export const verb: Verb = {
  path: "tree",
  summary: "Show the tree of groups.",
  examples: ["holt tree", "holt tree my-org/team-a --with repos --with identities"],
  arguments: [{ name: "group", kind: "group", optional: true, help: "the group to begin with; all organizations by default" }],
  options: [
    { name: "with", value: "KIND", help: "also show repos, identities or roles", repeated: true, values: Object.keys(SHOWN) },
    { name: "depth", value: "NUMBER", help: "at most as many levels below the beginning" },
    { name: "uids", help: "show uids" },
  ],
  async run(invocation) {
    const { output } = invocation;
    const rows = await readTree(invocation);
    if (output.format !== "table" && output.format !== "wide" && output.format !== "tree")
      return output.rows(rows, { columns: ["type", "name", "uid", "description"] });
    const withUids = invocation.isSet("uids") || output.format === "wide";
    process.stdout.write(tree(rows, (row) => labelOf(row, withUids)));
  },
};

async function readTree({ argument, list, option, uid, session, signal }: Invocation): Promise<Row[]> {
  const wanted = chosen("with", list("with"), Object.keys(SHOWN)).map((name) => SHOWN[name] as ListedKind);
  const depth = depthFrom(option("depth"));
  const root = argument("group") === "" ? undefined : await uid("group", argument("group"));
  const query = root === undefined ? {} : { "uidp.descendants_of": root };
  const { rest } = session();
  const progress = startProgress({ title: "Reading the tree" });
  const read = async (kind: ListedKind, more: Readonly<Record<string, string>>) => {
    const { path, items } = kinds[kind];
    const { rows } = await readPages(
      rest,
      { method: "GET", path, query: more },
      { items, limit: Number.MAX_SAFE_INTEGER, signal, onPage: (page) => progress.add(page.length) },
    );
    return rows.map((row) => ({ ...row, type: kind }));
  };
  try {
    const found = await Promise.all([
      ...(root === undefined ? [] : [read("group", { "uidp.ids": root })]),
      read("group", query),
      ...wanted.map((kind) => read(kind, query)),
    ]);
    return found.flat().filter((row) => depthOf(row, root) <= depth);
  } finally {
    progress.end();
  }
}

function depthFrom(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  if (!/^\d+$/.test(text)) throw usageFailure(`--depth: "${text}" must be a number`);
  return Number(text);
}

function depthOf(row: Row, root: string | undefined): number {
  const segments = (uid: string) => uid.split("/").length;
  return segments(String((row as { uid?: string }).uid)) - (root === undefined ? 1 : segments(root));
}

function labelOf(row: Row, withUids: boolean): string {
  const { type, name, uid } = row as { type: ListedKind; name?: string; uid?: string };
  const label = type === "group" ? paint("cyan", shownText(name)) : `${shownText(name)} ${paint("dim", `(${kinds[type].label})`)}`;
  return withUids ? `${label} ${paint("dim", uid ?? "")}` : label;
}
