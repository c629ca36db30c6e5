/**
 * Accepts slashes in the name of an owner, as in `/libraries/python/my-org/team/simple/`, where the name proper is
 * `my-org:team`. Pure.
 */
import type { LibraryRequest } from "../../http/library-request.ts";

/** The first segments below an owner. A folder with such a name needs the colon. */
const PROTOCOLS = ["simple", "files", "pypi"];

export function withFoldersInOwner(exchange: LibraryRequest): LibraryRequest {
  const { owner, path, method } = exchange;
  const at = path.findIndex((segment) => segment === "" || PROTOCOLS.includes(segment));
  // Only the path of an upload may end with the owner.
  const folders = at >= 0 ? path.slice(0, at) : method === "POST" ? path : [];
  return folders.length === 0 ? exchange : { ...exchange, owner: [owner, ...folders].join(":"), path: path.slice(folders.length) };
}
