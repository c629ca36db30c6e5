/** Finds resources of an organization by a part of their names. */
import { create } from "@bufbuild/protobuf";
import { type SearchHit, type SearchRequest, SearchResponseSchema, SearchService } from "@holt/api/gen/holt/v1/search_pb.ts";
import type { Access } from "../access/capabilities.ts";
import { capabilitySet } from "../access/capability-set.ts";
import { invalidArgument } from "../lib/errors.ts";
import { isAtOrBelow, isInRoot, isUid } from "../lib/uid.ts";
import { implement, read } from "./call/implement.ts";
import type { SearchFinder, SearchQuestion } from "./search-source.ts";

const MIN_TEXT = 2;
const MAX_TEXT = 100;
const DEFAULT_PAGE_SIZE = 5;
const MAX_PAGE_SIZE = 20;

/** Hits come in the order of the numbers of their kinds. */
export function searchService(finders: readonly SearchFinder[]) {
  const ordered = finders.toSorted((a, b) => a.kind - b.kind);
  return implement(SearchService, {
    search: read(async (request, { db, access }) => {
      const question = questionFrom(request);
      const wanted = ordered.filter(({ kind }) => request.kinds.length === 0 || request.kinds.includes(kind));
      const hits = new Map<string, SearchHit>();
      let incomplete = false;
      for (const finder of wanted) {
        const scopes = scopesOf(finder, question.organization, access);
        if (scopes.length === 0) continue;
        const found = await finder.find(db, { ...question, scopes });
        // Two columns may find the same row.
        for (const hit of found.hits) if (!hits.has(hit.uid)) hits.set(hit.uid, hit);
        incomplete ||= found.hasMore;
      }
      return create(SearchResponseSchema, { hits: [...hits.values()], incomplete });
    }),
  });
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
