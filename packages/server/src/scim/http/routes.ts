/** Parses the paths below `/scim/v2/`. Pure. */

export interface ScimRoute {
  /** The uid of the identity provider. */
  readonly idpUid: string;
  /** The endpoint, such as `Users`; empty if the path has none. */
  readonly endpoint: string;
  readonly id: string | undefined;
}

/** The uid of a provider has two segments. As in paths of the API, its slash may be escaped. */
const PATH = /^\/scim\/v2\/([0-9a-f]{40})(?:\/|%2[Ff])([0-9a-f]{16})(?:\/([^/]+)(?:\/([^/]+))?)?\/?$/;

/** @returns undefined for an unknown path */
export function scimRouteOf(path: string): ScimRoute | undefined {
  const [, organization, provider, endpoint = "", id] = PATH.exec(path) ?? [];
  if (organization === undefined) return undefined;
  const idpUid = `${organization}/${provider}`;
  try {
    return { idpUid, endpoint: decodeURIComponent(endpoint), id: id === undefined ? undefined : decodeURIComponent(id) };
  } catch {
    return undefined;
  }
}
