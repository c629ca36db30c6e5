/** Tells clients where to get a token, and for which scope (Docker registry token specification, RFC 6750 §3). */
import { InsufficientScope, type RegistryAction } from "../open-repo.ts";
import { scopeText } from "./scope.ts";

export interface ChallengedRequest {
  readonly method: string;
  /** The repository, as the client wrote it; undefined where the path names none. */
  readonly repository: string | undefined;
  readonly hasCredentials: boolean;
}

/**
 * @param error the error that the request is refused with
 * @returns the value of `WWW-Authenticate`
 */
export function challengeOf({ method, repository, hasCredentials }: ChallengedRequest, error: unknown, registryUrl: string): string {
  const parameters: [string, string][] = [
    ["realm", `${registryUrl}/token`],
    ["service", new URL(registryUrl).host],
  ];
  if (repository !== undefined && /^[a-z0-9._/-]+$/.test(repository)) parameters.push(["scope", scopeText(repository, actionOf(method))]);
  if (error instanceof InsufficientScope) parameters.push(["error", "insufficient_scope"]);
  else if (hasCredentials) parameters.push(["error", "invalid_token"]);
  return `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(",")}`;
}

function actionOf(method: string): RegistryAction {
  if (method === "GET" || method === "HEAD") return "pull";
  return method === "DELETE" ? "delete" : "push";
}
