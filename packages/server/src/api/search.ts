/** Finds resources of an organization by a part of their names. */
import { create } from "@bufbuild/protobuf";
import { type SearchHit, type SearchRequest, SearchResponseSchema, SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import type { Access } from "../access/capabilities.ts";
import { capabilitySet } from "../access/capability-set.ts";
import { invalidArgument } from "../lib/errors.ts";
import { isAtOrBelow, isInRoot, isUid } from "../lib/uid.ts";
import { implement, read } from "./call/implement.ts";
import type { SearchFinder, SearchFound, SearchQuestion } from "./search-source.ts";

const MIN_TEXT = 2;
const MAX_TEXT = 100;
const DEFAULT_PAGE_SIZE = 5;
const MAX_PAGE_SIZE = 20;

/** Hits come in the order of the numbers of their kinds. */
export function searchService(finders: readonly SearchFinder[]) {
  const byKind = [...Map.groupBy(finders, ({ kind }) => kind)].toSorted(([a], [b]) => a - b);
  return implement(SearchService, {
    search: read(async (request, { db, access }) => {
      const question = questionFrom(request);
      const response = create(SearchResponseSchema);
      for (const [kind, ofKind] of byKind) {
        if (request.kinds.length > 0 && !request.kinds.includes(kind)) continue;
        const found: SearchFound[] = [];
        for (const finder of ofKind) {
          const scopes = scopesOf(finder, question.organization, access);
          if (scopes.length > 0) found.push(await finder.find(db, { ...question, scopes }));
        }
        const { hits, hasMore } = merge(found, question);
        response.hits.push(...hits);
        response.incomplete ||= hasMore;
      }
      return response;
    }),
  });
}

/** The first hits of several finders of one kind. Two of them may find the same resource. */
function merge(found: readonly SearchFound[], { text, pageSize }: Pick<SearchQuestion, "text" | "pageSize">): SearchFound {
  const hasMore = found.some((part) => part.hasMore);
  if (found.length < 2) return { hits: found[0]?.hits ?? [], hasMore };
  // Names that begin with the text come first.
  const keyOf = ({ name }: SearchHit) => `${lowerCase(name).startsWith(text) ? 0 : 1}${lowerCase(name)}`;
  const sorted = found.flatMap((part) => part.hits).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const hits = sorted.filter(({ uid }, at) => sorted.findIndex((hit) => hit.uid === uid) === at);
  return { hits: hits.slice(0, pageSize), hasMore: hasMore || hits.length > pageSize };
}

/** @throws INVALID_ARGUMENT */
function questionFrom({ parent, text, pageSize }: SearchRequest): Omit<SearchQuestion, "scopes"> {
  if (!isUid(parent) || !isInRoot(parent)) throw invalidArgument("parent", "parent must be the uid of an organization");
  const length = [...text].length;
  if (length < MIN_TEXT || length > MAX_TEXT) throw invalidArgument("text", `text must have ${MIN_TEXT} to ${MAX_TEXT} characters`);
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) throw invalidArgument("page_size", `page_size must be at most ${MAX_PAGE_SIZE}`);
  return { organization: parent, text: lowerCase(text), pageSize: pageSize || DEFAULT_PAGE_SIZE };
}

/** As both stores do it with the collation of names: ASCII only. */
function lowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The topmost groups in the organization where the caller may list the kind. */
function scopesOf({ capability }: SearchFinder, organization: string, access: Access): readonly string[] {
  const wanted = capabilitySet([capability]);
  if (access.holds(wanted, organization)) return [organization];
  return access.scopes(wanted).filter((scope) => isAtOrBelow(scope, organization));
}
