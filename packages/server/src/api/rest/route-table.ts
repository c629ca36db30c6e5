/**
 * Finds the operation of a method and path. All paths of the contract become one tree of segments at boot; a match walks it once.
 *
 * If several routes match, one with a verb wins. Then, segment by segment, a literal wins over `*`, and `*` over `**`; of two `**` the one
 * with the longer rest behind it wins. A route of another method never hides one of the requested method: POST /iam/v2/groups creates in
 * root, although /iam/v2/groups itself has only GET. `**` also matches no segment.
 */

import { invalidArgument } from "../../lib/errors.ts";
import type { HttpBinding, Operation } from "../call/operation.ts";
import { type PathTemplate, parsePathTemplate } from "./path-template.ts";
import { find, grow, type Node, newNode, type Search } from "./route-tree.ts";

export interface Route {
  readonly operation: Operation;
  readonly binding: HttpBinding;
  readonly template: PathTemplate;
}

export type RouteMatch<R extends Route = Route> =
  | {
      readonly kind: "match";
      readonly route: R;
      /** Decoded; one for each variable of the template. */
      readonly variables: readonly string[];
      readonly alias: string | undefined;
    }
  | {
      readonly kind: "wrong-method";
      /** The methods of the path. */
      readonly allowed: readonly string[];
    }
  | { readonly kind: "unknown-path" };

export function routesOf(operations: readonly Operation[]): Route[] {
  return operations.flatMap((operation) =>
    operation.bindings.map((binding) => ({ operation, binding, template: parsePathTemplate(binding.path) })),
  );
}

const UNKNOWN_PATH = { kind: "unknown-path" } as const;

export class RouteTable<R extends Route = Route> {
  readonly #root: Node<R> = newNode();
  readonly #verbs = new Set<string>();

  /** @throws Error that names both operations if two routes have the same method and path */
  constructor(routes: readonly R[]) {
    for (const route of routes) this.#add(route);
  }

  /**
   * @param target the path as received, without the query
   * @throws HoltError INVALID_ARGUMENT if the path is not percent-encoded UTF-8
   */
  match(method: string, target: string): RouteMatch<R> {
    if (!target.startsWith("/")) return UNKNOWN_PATH;
    const path = withoutSlash(target);
    const search: Search = { method, verb: "", segments: split(path), alias: undefined, otherMethods: undefined };
    const route = this.#withVerb(search, path) ?? find(this.#root, search, 0);
    if (route === undefined) return search.otherMethods === undefined ? UNKNOWN_PATH : wrongMethod(search.otherMethods);
    return { kind: "match", route, variables: capture(route.template, search.segments), alias: search.alias };
  }

  /** Finds the route of a path that ends in a verb; restores the search if there is none. */
  #withVerb(search: Search, path: string): R | undefined {
    const colon = path.lastIndexOf(":");
    if (colon <= path.lastIndexOf("/") || !this.#verbs.has(path.slice(colon + 1))) return undefined;
    const whole = search.segments;
    search.verb = path.slice(colon + 1);
    search.segments = split(withoutSlash(path.slice(0, colon)));
    const route = find(this.#root, search, 0);
    if (route !== undefined) return route;
    search.verb = "";
    search.segments = whole;
    return undefined;
  }

  #add(route: R): void {
    const { verb = "" } = route.template;
    const node = grow(this.#root, route.template);
    if (verb !== "") this.#verbs.add(verb);
    const methods = node.ends.get(verb) ?? new Map<string, R>();
    node.ends.set(verb, methods);
    const other = methods.get(route.binding.method);
    if (other !== undefined) throw new Error(collision(route, other));
    methods.set(route.binding.method, route);
  }
}

function wrongMethod(methods: ReadonlySet<string>): RouteMatch<never> {
  return { kind: "wrong-method", allowed: [...methods].sort() };
}

function collision(route: Route, other: Route): string {
  return `${route.operation.name} and ${other.operation.name} both claim ${route.binding.method} ${route.binding.path} (${other.binding.path})`;
}

/** Ignores a slash at the end. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** The decoded segments. `String.split` takes twice the time, because V8 looks for the result of an equal path first. */
function split(path: string): string[] {
  const segments: string[] = [];
  let start = 1;
  for (let end = path.indexOf("/", start); end >= 0; end = path.indexOf("/", start)) {
    segments.push(path.slice(start, end));
    start = end + 1;
  }
  segments.push(path.slice(start));
  return path.includes("%") ? segments.map(decode) : segments;
}

function decode(segment: string): string {
  try {
    return segment.includes("%") ? decodeURIComponent(segment) : segment;
  } catch {
    throw invalidArgument("", "the path is not percent-encoded UTF-8");
  }
}

function capture(template: PathTemplate, segments: readonly string[]): string[] {
  const { variables, many } = template;
  if (variables.length === 0) return [];
  // Segments behind `**` are later in the path by the number of segments that `**` matched beyond one.
  const extra = segments.length - template.segments.length;
  const shift = (index: number): number => (many >= 0 && index > many ? index + extra : index);
  return variables.map(({ start, end }) =>
    end - start === 1 && start !== many ? (segments[shift(start)] ?? "") : segments.slice(shift(start), shift(end)).join("/"),
  );
}
