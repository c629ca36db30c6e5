/** Token sources that need a file system: Node, Deno and Bun. */
import { readFile } from "node:fs/promises";
import { type TokenSource, tokenOf } from "./tokens/token-source.ts";

export { tokenOf } from "./tokens/token-source.ts";

/** The place where Kubernetes projects the token of a service account by default. */
export const KUBERNETES_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** A token in a file, which is read for each use, because its owner replaces it before it expires. */
export function fileToken(path: string = KUBERNETES_TOKEN): TokenSource {
  return async () => tokenOf((await readFile(path, "utf8")).trim());
}
