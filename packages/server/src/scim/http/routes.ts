/** The paths below `/scim/v2/`. Pure. */

export interface ScimRoute {
  /** Uid of the identity provider. */
  readonly idpUid: string;
  /** What is asked for, such as `Users`; the empty string for nothing. */
  readonly endpoint: string;
  readonly id: string | undefined;
}

/** A provider's uid is a path of two segments itself. */
const PATH = /^\/scim\/v2\/([0-9a-f]{40}\/[0-9a-f]{16})(?:\/([^/]+)(?:\/([^/]+))?)?\/?$/;

/** Undefined for a path that has no such form. */
export function scimRouteOf(path: string): ScimRoute | undefined {
  const [, idpUid, endpoint = "", id] = PATH.exec(path) ?? [];
  if (idpUid === undefined) return undefined;
  try {
    return { idpUid, endpoint: decodeURIComponent(endpoint), id: id === undefined ? undefined : decodeURIComponent(id) };
  } catch {
    return undefined;
  }
}
