/** Paths that are not described by the contract, and what serves them. */
import type { RequestHandler } from "./http-exchange.ts";

export interface Mount {
  /** `/token` matches itself alone, `/v2/*` everything below `/v2/`. */
  readonly paths: readonly string[];
  readonly serve: RequestHandler;
}

/**
 * Finds what serves a path.
 * @throws Error where two mounts have the same path
 */
export function compileMounts(mounts: readonly Mount[]): (path: string) => RequestHandler | undefined {
  const exact = new Map<string, RequestHandler>();
  const below: { readonly prefix: string; readonly serve: RequestHandler }[] = [];
  for (const { paths, serve } of mounts) {
    for (const path of paths) {
      const prefix = path.endsWith("/*") ? path.slice(0, -1) : undefined;
      if (exact.has(path) || below.some((other) => other.prefix === prefix)) throw new Error(`${path} is mounted twice`);
      if (prefix === undefined) exact.set(path, serve);
      else below.push({ prefix, serve });
    }
  }
  return (path) => exact.get(path) ?? below.find(({ prefix }) => path.startsWith(prefix))?.serve;
}
