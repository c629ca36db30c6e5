/** The organization of the address, and addresses within it. */
import { useParams } from "@tanstack/react-router";

export function useOrganization(): string {
  const { organization = "" } = useParams({ strict: false }) as { organization?: string };
  return organization;
}

/** The uid that the address of a screen of one object ends with. */
export function useObjectUid(): string {
  const { _splat = "" } = useParams({ strict: false }) as { _splat?: string };
  return _splat;
}

/** @param path of a screen (app/screens.ts), without `$` */
export function screenPath(organization: string, path: string, uid = ""): string {
  const below = path === "/" ? "" : path;
  return `/${organization}${below}${uid === "" ? "" : `/${uid}`}`;
}
