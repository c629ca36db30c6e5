/** Says which access a request needs, as the challenge names it to the client. Pure. */
import { CATALOG, type NeededAccess, type RegistryAction, type RepositoryAccess } from "../token-scope.ts";
import type { Route } from "./routes.ts";

/** @param query of the request; a mount names its source there */
export function neededAccess(route: Route | undefined, method: string, query: URLSearchParams): readonly NeededAccess[] {
  if (route?.kind === "catalog") return [CATALOG];
  if (route === undefined || !("name" in route)) return [];
  const own: RepositoryAccess = { type: "repository", name: route.name, action: actionOf(route, method) };
  const source = route.kind === "uploads" && query.has("mount") ? query.get("from") : null;
  return source === null || source === "" ? [own] : [own, { type: "repository", name: source, action: "pull" }];
}

function actionOf({ kind }: Route, method: string): RegistryAction {
  const isRead = method === "GET" || method === "HEAD";
  switch (kind) {
    case "uploads":
    case "upload":
      return "push";
    case "manifest":
    case "blob":
      if (isRead) return "pull";
      return method === "DELETE" ? "delete" : "push";
    default:
      return "pull";
  }
}
