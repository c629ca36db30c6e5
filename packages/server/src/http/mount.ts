/** Paths that are not described by the contract, and what serves them. */
import type { RequestHandler } from "./http-exchange.ts";

export interface Mount {
  /** `/token` matches itself alone, `/v2/*` everything below `/v2/`. */
  readonly paths: readonly string[];
  readonly serve: RequestHandler;
}

/**
 * Finds what serves a path.
 * @throws Error where the paths of two mounts overlap
 */
export function compileMounts(mounts: readonly Mount[]): (path: string) => RequestHandler | undefined {
  const exact = new Map<string, RequestHandler>();
  const below: MountedBelow[] = [];
  for (const { paths, serve } of mounts) {
    for (const path of paths) {
      const prefix = prefixOf(path);
      const other = [...exact.keys(), ...below.map((one) => `${one.prefix}*`)].find((one) => overlap(one, path));
      if (other !== undefined) throw new Error(`the mounts ${other} and ${path} overlap`);
      if (prefix === undefined) exact.set(path, serve);
      else below.push({ prefix, serve });
    }
  }
  const bySegment = Map.groupBy(below, ({ prefix }) => firstSegment(prefix));
  const findIn = (segment: string, path: string) => bySegment.get(segment)?.find(({ prefix }) => path.startsWith(prefix))?.serve;
  return (path) => exact.get(path) ?? findIn(firstSegment(path), path) ?? findIn("", path);
}

interface MountedBelow {
  readonly prefix: string;
  readonly serve: RequestHandler;
}

/** `/v2/` of `/v2/name/tags`; empty for `/` and `/v2`. */
function firstSegment(path: string): string {
  return path.slice(0, path.indexOf("/", 1) + 1);
}

/**
 * Refuses mounts that would take paths from the contract.
 * @param templates path templates of google.api.http, such as `/iam/v2/groups/{uid=**}`
 * @throws Error that names the mount and the path
 */
export function assertNoneShadowed(mounts: readonly Mount[], templates: Iterable<string>): void {
  const paths = mounts.flatMap((mount) => mount.paths);
  for (const template of templates) {
    const shadowing = paths.find((path) => overlap(path, literalPart(template)));
    if (shadowing !== undefined) throw new Error(`the mount ${shadowing} takes the path ${template} from the contract`);
  }
}

/** The template up to its first variable, as the path of a mount: `/iam/v2/groups/{uid=**}` becomes `/iam/v2/groups/*`. */
function literalPart(template: string): string {
  const variable = template.search(/[{*]/);
  return variable < 0 ? template : `${template.slice(0, variable)}*`;
}

/** Whether a path can match both. `/a` and `/a/*` do not overlap. */
function overlap(a: string, b: string): boolean {
  const prefixA = prefixOf(a);
  const prefixB = prefixOf(b);
  if (prefixA === undefined) return prefixB === undefined ? a === b : a.startsWith(prefixB);
  return prefixB === undefined ? b.startsWith(prefixA) : prefixA.startsWith(prefixB) || prefixB.startsWith(prefixA);
}

function prefixOf(path: string): string | undefined {
  return path.endsWith("*") ? path.slice(0, -1) : undefined;
}
