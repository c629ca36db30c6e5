/** Resources as a tree. The uid of each begins with the uid of its parent. */
import { paint } from "../terminal/color.ts";
import { shownText } from "./cell.ts";
import type { Row } from "./output.ts";

interface Node {
  readonly row: Row;
  readonly children: Node[];
}

export function tree(rows: readonly Row[], labelOf: (row: Row) => string = defaultLabel): string {
  return rootsOf(rows)
    .flatMap((root) => [labelOf(root.row), ...branches(root, "", labelOf)])
    .map((line) => `${line}\n`)
    .join("");
}

function rootsOf(rows: readonly Row[]): Node[] {
  const nodes = new Map(rows.map((row) => [uidOf(row), { row, children: [] as Node[] }]));
  const roots: Node[] = [];
  for (const [uid, node] of nodes) (parentIn(nodes, uid)?.children ?? roots).push(node);
  for (const node of [...nodes.values(), { children: roots }])
    node.children.sort((a, b) => (shownText(a.row.name) < shownText(b.row.name) ? -1 : 1));
  return roots;
}

/** The nearest ancestor that is among the rows. */
function parentIn(nodes: ReadonlyMap<string, Node>, uid: string): Node | undefined {
  for (let end = uid.lastIndexOf("/"); end > 0; end = uid.lastIndexOf("/", end - 1)) {
    const node = nodes.get(uid.slice(0, end));
    if (node !== undefined) return node;
  }
  return undefined;
}

function branches({ children }: Node, indent: string, labelOf: (row: Row) => string): string[] {
  return children.flatMap((child, index) => {
    const isLast = index === children.length - 1;
    const line = `${indent}${isLast ? "└── " : "├── "}${labelOf(child.row)}`;
    return [line, ...branches(child, `${indent}${isLast ? "    " : "│   "}`, labelOf)];
  });
}

function defaultLabel(row: Row): string {
  return `${shownText(row.name ?? "")} ${paint("dim", uidOf(row))}`.trim();
}

function uidOf(row: Row): string {
  return String(row.uid ?? row.id ?? "");
}
