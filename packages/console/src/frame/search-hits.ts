/** The hits of the search for names, and the screen that each kind of hit opens. */
import { SearchHit_Kind as Kind, type SearchHit } from "@holt/api/gen/holt/v1/search_pb.ts";
import type { Screen } from "../app/screens.ts";
import { useNameSearch } from "./name-search.ts";

export interface HitScreen {
  readonly kind: Kind;
  /** Title of the hits of this kind. */
  readonly title: string;
  /** First part of the address of the screen of one object. */
  readonly path: string;
}

const hitScreens: readonly HitScreen[] = [
  { kind: Kind.GROUP, title: "Groups", path: "/group" },
  { kind: Kind.IDENTITY, title: "Identities", path: "/identity" },
  { kind: Kind.REPOSITORY, title: "Image repositories", path: "/repository" },
  { kind: Kind.TAG, title: "Tags", path: "/tag" },
  { kind: Kind.PACKAGE, title: "Packages", path: "/library" },
  { kind: Kind.ADVISORY, title: "Advisories", path: "/advisory" },
];

export interface SearchHits {
  /** Those kinds that have hits, in the order of the palette. */
  readonly found: readonly { readonly screen: HitScreen; readonly hits: readonly SearchHit[] }[];
  readonly isSearching: boolean;
  readonly error: unknown;
}

/** @param screens kinds without a screen are not sought */
export function useSearchHits(organization: string, typed: string, screens: readonly Screen[]): SearchHits {
  const shown = hitScreens.filter(({ path }) => screens.some((screen) => screen.path === `${path}/$`));
  const { hits, isSearching, error } = useNameSearch(organization, typed, { kinds: shown.map(({ kind }) => kind) });
  return {
    found: shown
      .map((screen) => ({ screen, hits: hits.filter(({ kind }) => kind === screen.kind) }))
      .filter((group) => group.hits.length > 0),
    isSearching,
    error,
  };
}
