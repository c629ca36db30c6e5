/** The catalogue of published libraries. Read-only: publishing writes it. */
import { create } from "@bufbuild/protobuf";
import {
  ArtifactsService,
  Ecosystem,
  GetArtifactCountResponseSchema,
  type ListArtifactsRequest,
  ListArtifactsResponseSchema,
} from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { sql } from "kysely";
import { implement, read } from "../../api/call/implement.ts";
import { listCapabilities } from "../../api/resource/conditions.ts";
import { type ListTerms, listPage } from "../../api/resource/list.ts";
import { listResponse } from "../../api/resource/list-text.ts";
import { parseOrderBy } from "../../api/resource/order-by.ts";
import type { PageTokens } from "../../api/resource/page-token.ts";
import type { Entries } from "../../api/resource/selection.ts";
import type { Condition } from "../../api/resource/visible.ts";
import type { Dialect } from "../../db/dialect.ts";
import { countOfAll } from "../../db/resource-count.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { artifacts, countKinds } from "../artifacts-resource.ts";
import { ofEcosystems, patternOf } from "../name-index.ts";
import { listVersions } from "./artifact-versions.ts";
import { planSearch } from "./plan-search.ts";

export function artifactsService({ pageTokens }: { readonly pageTokens: PageTokens }) {
  return implement(ArtifactsService, {
    listArtifacts: read(async (request, call) => {
      const all = { ...request, uidp: undefined };
      return listResponse(
        ListArtifactsResponseSchema,
        await listPage(artifacts, all, call, { pageTokens, ...termsOf(request, call.db.dialect) }),
      );
    }),

    listArtifactVersions: read((request, call) => listVersions(request, call, pageTokens)),

    getArtifactCount: read(async ({ ecosystems }, call) => {
      const scopes = call.access.scopes(listCapabilities(call));
      const counts = parseEcosystems(ecosystems).map(async (ecosystem) => {
        const kind = countKinds.get(ecosystem);
        const below = kind === undefined || scopes.length === 0 ? 0 : (await countOfAll(call.db, kind, scopes)).below;
        return { ecosystem, totalCount: BigInt(below) };
      });
      return create(GetArtifactCountResponseSchema, { counts: await Promise.all(counts) });
    }),
  });
}

/** Without duplicates, in the order given. @throws INVALID_ARGUMENT on ecosystems */
function parseEcosystems(ecosystems: readonly Ecosystem[]): readonly Ecosystem[] {
  const wanted = [...new Set(ecosystems)];
  if (wanted.length === 0) throw invalidArgument("ecosystems", "name at least one: ECOSYSTEM_PYTHON, ECOSYSTEM_JAVA");
  if (!wanted.every((ecosystem) => countKinds.has(ecosystem)))
    throw invalidArgument("ecosystems", "must be ECOSYSTEM_PYTHON or ECOSYSTEM_JAVA");
  return wanted;
}

/** Characters; no name is longer. */
const MAX_QUERY = 200;

/** The filters of a list of libraries. */
export type ArtifactFilters = Pick<ListArtifactsRequest, "ecosystems" | "query" | "cudaVersion" | "remediated" | "orderBy">;

/** @param few for tests, as in `Search` @throws INVALID_ARGUMENT */
export function termsOf(
  { ecosystems, query, cudaVersion, remediated, orderBy }: ArtifactFilters,
  dialect: Dialect,
  few?: number,
): ListTerms {
  const wanted = parseEcosystems(ecosystems);
  if (query.length > MAX_QUERY) throw invalidArgument("query", `must have at most ${MAX_QUERY} characters`);
  if (cudaVersion && !wanted.includes(Ecosystem.PYTHON)) throw invalidArgument("cuda_version", "only Python libraries are built for CUDA");
  const { column } = parseOrderBy(orderBy, artifacts);
  const only = wanted.length === countKinds.size ? undefined : wanted[0];
  const ofOne = only === undefined ? [] : [ofEcosystem(only, column, dialect)];
  const cuda = cudaVersion ? { ...forCuda(cudaVersion, dialect), version: cudaVersion } : undefined;
  const others = [...(remediated ? [withPatches(wanted, column, dialect)] : []), ...ofOne];
  // PostgreSQL allows no NUL in a text, so no name contains one.
  if (query.includes("\0")) return { conditions: [{ seek: sql`1 = 0`, test: sql`1 = 0` }] };
  if (query !== "" || (remediated && cuda === undefined)) {
    const named = query === "" ? undefined : containing(query, dialect);
    const search = { text: query, ecosystems: wanted, remediated, named, cuda, others, few };
    const conditions = [...(named ? [named] : []), ...(cuda ? [cuda] : []), ...others];
    return { conditions, plan: (selection, db) => planSearch(search, selection, db) };
  }
  if (cuda !== undefined) {
    const where = sql<boolean>`cuda_version = ${cuda.version}`;
    const entries: Entries = { table: "library_version", uid: sql`artifact_uid`, where, isRepeated: true };
    return { conditions: [cuda, ...others], ...(!remediated && { entries }) };
  }
  const counted = only === undefined ? artifacts.table : countKinds.get(only);
  return { conditions: ofOne, ...(counted && { counted }), isIndexed: only !== undefined && column !== "uid" };
}

/** Every order except that of uids has an index that begins with the ecosystem. */
export function ofEcosystem(ecosystem: Ecosystem, order: string, dialect: Dialect): Condition {
  const test = sql<boolean>`${dialect.unindexed("ecosystem")} = ${ecosystem}`;
  const condition: Condition = { seek: test, test: order === "uid" ? test : sql<boolean>`ecosystem = ${ecosystem}` };
  const name = `ecosystem ${ecosystem} ${order === "uid"}`;
  return { ...condition, template: { name, value: undefined, build: () => condition } };
}

/** Remediated libraries have an index in the order of names. */
function withPatches(wanted: readonly Ecosystem[], order: string, dialect: Dialect): Condition {
  const column = order === "name" && wanted.length === 1 ? sql`remediated` : dialect.unindexed("remediated");
  return { seek: sql`remediated = 1 and ${ofEcosystems(wanted)}`, test: sql`${column} = 1` };
}

/** Libraries whose name contains the text, in any case. */
function containing(text: string, dialect: Dialect): Condition {
  const test = dialect.isLike(dialect.unindexed("name"), patternOf(text));
  return { seek: test, test };
}

function forCuda(version: string, dialect: Dialect): Condition {
  const built = sql`select distinct v.artifact_uid from library_version v where v.cuda_version = ${version}`;
  return {
    seek: dialect.isAmong(sql`uid`, built),
    test: sql`exists (select 1 from library_version v where v.artifact_uid = ${dialect.unindexed("library_artifact.uid")} and v.cuda_version = ${version})`,
  };
}
