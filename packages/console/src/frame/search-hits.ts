/** The hits of the search for names, and the screen that each kind of hit opens. */
import { useQuery } from "@connectrpc/connect-query";
import { SearchHit_Kind as Kind, type SearchHit, SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";
import type { Screen } from "../app/screens.ts";

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

/** Waits until the person stops typing. */
const TYPING_MS = 150;
const MIN_TEXT = 2;
const MAX_TEXT = 100;

export interface SearchHits {
  /** Those kinds that have hits, in the order of the palette. */
  readonly found: readonly { readonly screen: HitScreen; readonly hits: readonly SearchHit[] }[];
  readonly isSearching: boolean;
  readonly error: unknown;
}

/** @param screens kinds without a screen are not sought */
export function useSearchHits(organization: string, typed: string, screens: readonly Screen[]): SearchHits {
  const wanted = typed.trim().slice(0, MAX_TEXT);
  const [text] = useDebouncedValue(wanted, TYPING_MS);
  const shown = hitScreens.filter(({ path }) => screens.some((screen) => screen.path === `${path}/$`));
  const isLongEnough = text.length >= MIN_TEXT;
  const { data, isFetching, error } = useQuery(
    SearchService.method.search,
    { parent: organization, text, kinds: shown.map(({ kind }) => kind) },
    { enabled: isLongEnough && organization !== "", placeholderData: keepPreviousData },
  );
  const hits = isLongEnough ? (data?.hits ?? []) : [];
  return {
    found: shown
      .map((screen) => ({ screen, hits: hits.filter(({ kind }) => kind === screen.kind) }))
      .filter((group) => group.hits.length > 0),
    isSearching: (isLongEnough && isFetching) || (text !== wanted && wanted.length >= MIN_TEXT),
    error,
  };
}
