/** Finds the uid of a resource by its name, or by a path of names such as `my-org/team-a`. */
import type { Rest } from "@holt/client/rest";
import { nearest } from "../command/nearest.ts";
import { exitStatus, Failure } from "../failure.ts";
import { kinds, type ListedKind, listedKinds, type ResourceKind } from "./kinds.ts";

export interface Named {
  readonly uid: string;
  readonly name: string;
}

interface Candidate extends Named {
  readonly kind: ListedKind;
  /** Names from the organization down. */
  readonly path: string;
}

/** The segments of a uid: 40 hexadecimal digits, then 16 each. */
const UID = /^[0-9a-f]{40}(?:\/[0-9a-f]{16})*$/;
const MAX_SHOWN = 10;

export function isUid(text: string): boolean {
  return UID.test(text);
}

/** @throws Failure if no resource or several have the name */
export async function resolveUid(rest: Rest, kind: ResourceKind, text: string, signal?: AbortSignal): Promise<string> {
  if (isUid(text) || text === "" || text === "/") return text;
  const segments = text.split("/").filter((segment) => segment !== "");
  const found = (await Promise.all(listedKinds(kind).map((listed) => list(rest, listed, { name: segments.at(-1) ?? "" }, signal)))).flat();
  const candidates = await addPaths(rest, found, signal);
  const fitting = candidates.filter(({ path }) => path === segments.join("/") || path.endsWith(`/${segments.join("/")}`));
  const exact = fitting.filter(({ path }) => path === segments.join("/"));
  const [only, ...others] = exact.length === 1 && segments.length > 1 ? exact : fitting;
  if (only === undefined) throw unknownName(kind, text, await similarName(rest, kind, segments, signal));
  if (others.length > 0) throw ambiguousName(kind, text, [only, ...others]);
  return only.uid;
}

/** The first page of a list. */
async function list(rest: Rest, kind: ListedKind, filter: Readonly<Record<string, string>>, signal?: AbortSignal) {
  const { path, items } = kinds[kind];
  const answer = (await rest.call({ method: "GET", path, query: { ...filter, page_size: "200" }, signal })) as Record<string, Named[]>;
  return (answer[items] ?? []).map((found) => ({ ...found, kind }));
}

/** Groups that the caller may not see are shown by a question mark. */
async function addPaths(rest: Rest, found: readonly (Named & { kind: ListedKind })[], signal?: AbortSignal): Promise<Candidate[]> {
  const names = await namesOfGroups(rest, new Set(found.flatMap(({ uid }) => ancestorsOf(uid))), signal);
  return found.map(({ uid, name, kind }) => {
    const path = [...ancestorsOf(uid).map((group) => names.get(group) ?? "?"), name].join("/");
    return { uid, name, kind, path };
  });
}

const MAX_UIDS_PER_CALL = 100;

/** Names by uid, of the groups that the caller may see. */
export async function namesOfGroups(rest: Rest, uids: ReadonlySet<string>, signal?: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  const wanted = [...uids];
  for (let start = 0; start < wanted.length; start += MAX_UIDS_PER_CALL) {
    const ids = wanted.slice(start, start + MAX_UIDS_PER_CALL);
    const query = { "uidp.ids": ids, page_size: "200" };
    const { groups = [] } = (await rest.call({ method: "GET", path: kinds.group.path, query, signal })) as { groups?: Named[] };
    for (const { uid, name } of groups) names.set(uid, name);
  }
  return names;
}

/** The uids above this one, the organization first. */
export function ancestorsOf(uid: string): string[] {
  const segments = uid.split("/");
  return segments.slice(1).map((_, index) => segments.slice(0, index + 1).join("/"));
}

/** The most similar name, or path with as many names, among the first page of each kind. */
async function similarName(rest: Rest, kind: ResourceKind, segments: readonly string[], signal?: AbortSignal): Promise<string | undefined> {
  const listed = (await Promise.all(listedKinds(kind).map((one) => list(rest, one, {}, signal)))).flat();
  const candidates = await addPaths(rest, listed, signal);
  const known = candidates.map(({ path }) => path.split("/").slice(-segments.length).join("/"));
  return nearest(segments.join("/"), known);
}

function unknownName(kind: ResourceKind, text: string, similar: string | undefined): Failure {
  const suggestion = similar === undefined ? "" : `; did you mean ${similar}?`;
  return new Failure(`there is no ${labelOf(kind)} "${text}" that you can see${suggestion}`, {
    advice: "give its uid, its name, or its path of names such as my-org/team-a",
    status: exitStatus.notFound,
  });
}

function ambiguousName(kind: ResourceKind, text: string, candidates: readonly Candidate[]): Failure {
  const shown = candidates.slice(0, MAX_SHOWN).map(({ path, uid }) => `\n      ${path}  ${uid}`);
  const more = candidates.length > MAX_SHOWN ? `\n      and ${candidates.length - MAX_SHOWN} more` : "";
  const arePathsDistinct = new Set(candidates.map(({ path }) => path)).size === candidates.length;
  return new Failure(`"${text}" is the name of ${candidates.length} resources of the kind ${labelOf(kind)}`, {
    advice: `give the uid ${arePathsDistinct ? "or a longer path " : ""}of one of them:${shown.join("")}${more}`,
    status: exitStatus.usage,
  });
}

function labelOf(kind: ResourceKind): string {
  return listedKinds(kind)
    .map((listed) => kinds[listed].label)
    .join(" or ");
}
