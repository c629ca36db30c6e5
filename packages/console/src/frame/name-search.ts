/** Searches for objects of an organization by a part of their names while a person types. */
import { useQuery } from "@connectrpc/connect-query";
import { type SearchHit, type SearchHit_Kind, SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";

/** Waits until the person stops typing. */
const TYPING_MS = 150;
const MIN_TEXT = 2;
const MAX_TEXT = 100;

export interface NameSearch {
  readonly hits: readonly SearchHit[];
  /** Whether too little is typed for a search. */
  readonly isShort: boolean;
  readonly isSearching: boolean;
  readonly error: unknown;
}

/** @param limits kinds of objects, and the most hits of each; 0 for the number that the server prefers */
export function useNameSearch(
  organization: string,
  typed: string,
  { kinds, pageSize = 0 }: { readonly kinds: SearchHit_Kind[]; readonly pageSize?: number },
): NameSearch {
  const wanted = typed.trim().slice(0, MAX_TEXT);
  const [text] = useDebouncedValue(wanted, TYPING_MS);
  const isLongEnough = text.length >= MIN_TEXT;
  const { data, isFetching, error } = useQuery(
    SearchService.method.search,
    { parent: organization, text, kinds, pageSize },
    { enabled: isLongEnough && organization !== "", placeholderData: keepPreviousData },
  );
  const isShort = wanted.length < MIN_TEXT;
  return { hits: isLongEnough ? (data?.hits ?? []) : [], isShort, isSearching: !isShort && (wanted !== text || isFetching), error };
}
