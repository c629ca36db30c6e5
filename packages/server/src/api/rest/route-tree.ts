/**
 * The tree behind the route table: one level per segment of the path. The order of the walk decides which of several matching routes wins.
 */
import type { PathTemplate, Segment } from "./path-template.ts";

/** The routes that end at a node: by verb (empty for none), then by HTTP method. */
type Ends<R> = Map<string, Map<string, R>>;

/** One step into the path. Behind `**` a node counts from the end of the path backwards. */
export interface Node<R> {
  readonly literals: Map<string, Node<R>>;
  one: Node<R> | undefined;
  many: Node<R> | undefined;
  readonly ends: Ends<R>;
}

/** v2beta1 is an alias of v2. */
const ALIAS = "v2beta1";
const ALIASED = "v2";
/** Index of the version in a path such as /iam/v2/groups. */
const VERSION_INDEX = 1;

export function newNode<R>(): Node<R> {
  return { literals: new Map(), one: undefined, many: undefined, ends: new Map() };
}

/** The node at which a template ends; creates missing nodes on the way. */
export function grow<R>(root: Node<R>, { segments, many }: PathTemplate): Node<R> {
  let node = root;
  for (const segment of many < 0 ? segments : segments.slice(0, many)) node = childOf(node, segment);
  if (many < 0) return node;
  node.many ??= newNode();
  node = node.many;
  for (const segment of segments.slice(many + 1).reverse()) node = childOf(node, segment);
  return node;
}

function childOf<R>(node: Node<R>, segment: Segment): Node<R> {
  if (segment.kind !== "literal") {
    node.one ??= newNode();
    return node.one;
  }
  const child = node.literals.get(segment.text) ?? newNode<R>();
  node.literals.set(segment.text, child);
  return child;
}

export interface Search {
  readonly method: string;
  verb: string;
  segments: readonly string[];
  alias: string | undefined;
  /** The methods of routes that match the path; undefined if only the requested method was met, or none. */
  otherMethods: Set<string> | undefined;
}

/** The best route from `node` for the segments from `index` on. The depth of the tree bounds the cost, not the length of the path. */
export function find<R>(node: Node<R>, search: Search, index: number): R | undefined {
  const segment = search.segments[index];
  if (segment === undefined) {
    const route = endOf(node, search);
    if (route !== undefined) return route;
  } else {
    const route =
      findLiteral(node, search, index, segment) ??
      (node.one !== undefined && segment !== "" ? find(node.one, search, index + 1) : undefined);
    if (route !== undefined) return route;
  }
  return node.many === undefined ? undefined : findBackwards(node.many, search, index, search.segments.length);
}

function findLiteral<R>(node: Node<R>, search: Search, index: number, segment: string): R | undefined {
  if (node.literals.size === 0) return undefined;
  const isAlias = index === VERSION_INDEX && segment === ALIAS;
  const child = node.literals.get(isAlias ? ALIASED : segment);
  const route = child === undefined ? undefined : find(child, search, index + 1);
  if (isAlias && route !== undefined) search.alias = ALIAS;
  return route;
}

/** The best route whose rest matches the segments before `end`, longest rest first. `**` matches the segments from `start` to that rest. */
function findBackwards<R>(node: Node<R>, search: Search, start: number, end: number): R | undefined {
  const segment = end > start ? search.segments[end - 1] : undefined;
  if (segment !== undefined) {
    const child = node.literals.get(segment);
    const literal = child === undefined ? undefined : findBackwards(child, search, start, end - 1);
    const route = literal ?? (node.one !== undefined && segment !== "" ? findBackwards(node.one, search, start, end - 1) : undefined);
    if (route !== undefined) return route;
  }
  return endOf(node, search);
}

function endOf<R>(node: Node<R>, search: Search): R | undefined {
  const methods = node.ends.get(search.verb);
  if (methods === undefined) return undefined;
  const route = methods.get(search.method);
  if (route !== undefined) return route;
  search.otherMethods ??= new Set();
  for (const method of methods.keys()) search.otherMethods.add(method);
  return undefined;
}
