/** The catalogue of libraries: what is published, for who may list it. It is read here and written by publishing. */
import { create } from "@bufbuild/protobuf";
import {
  ArtifactsService,
  Ecosystem,
  GetArtifactCountResponseSchema,
  type ListArtifactsRequest,
  ListArtifactsResponseSchema,
} from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { type RawBuilder, sql } from "kysely";
import { implement, read } from "../../call/implement.ts";
import type { Dialect } from "../../db/dialect.ts";
import { countOfAll } from "../../db/resource-count.ts";
import { invalidArgument } from "../../lib/errors.ts";
import { rarestGramOf } from "../../lib/grams.ts";
import { artifacts, countKinds } from "../../libraries/artifacts-resource.ts";
import { listCapabilities } from "../../resource/conditions.ts";
import { type ListTerms, listPage, listResponse } from "../../resource/list.ts";
import { type Condition, onColumn } from "../../resource/visible.ts";
import type { ServiceDependencies } from "../dependencies.ts";
import { listVersions } from "./artifact-versions.ts";

export function artifactsService({ pageTokens }: ServiceDependencies) {
  return implement(ArtifactsService, {
    listArtifacts: read(async (request, call) => {
      const all = { ...request, uidp: undefined };
      return listResponse(ListArtifactsResponseSchema, await listPage(artifacts, all, call, pageTokens, termsOf(request, call.db.dialect)));
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

/** Each once, in the order given. @throws INVALID_ARGUMENT on ecosystems */
function parseEcosystems(ecosystems: readonly Ecosystem[]): readonly Ecosystem[] {
  const wanted = [...new Set(ecosystems)];
  if (wanted.length === 0) throw invalidArgument("ecosystems", "name at least one: ECOSYSTEM_PYTHON, ECOSYSTEM_JAVA");
  if (!wanted.every((ecosystem) => countKinds.has(ecosystem)))
    throw invalidArgument("ecosystems", "must be ECOSYSTEM_PYTHON or ECOSYSTEM_JAVA");
  return wanted;
}

/** Longer than any name. */
const MAX_QUERY = 200;

function termsOf({ ecosystems, query, cudaVersion, remediated }: ListArtifactsRequest, dialect: Dialect): ListTerms {
  const wanted = parseEcosystems(ecosystems);
  if (query.length > MAX_QUERY) throw invalidArgument("query", `must have at most ${MAX_QUERY} characters`);
  if (cudaVersion && !wanted.includes(Ecosystem.PYTHON)) throw invalidArgument("cuda_version", "only Python libraries are built for CUDA");
  const filters = [
    ...(query === "" ? [] : [named(query, dialect)]),
    ...(cudaVersion ? [forCuda(cudaVersion, dialect)] : []),
    ...(remediated ? [onColumn("remediated", dialect, (column) => sql`${column} = 1`)] : []),
  ];
  if (wanted.length === countKinds.size) return { conditions: filters, ...(filters.length === 0 && { counted: artifacts.table }) };
  const conditions = [...filters, ofEcosystem(wanted[0] ?? Ecosystem.UNSPECIFIED, dialect)];
  const kind = countKinds.get(wanted[0] ?? Ecosystem.UNSPECIFIED);
  return { conditions, ...(filters.length === 0 && kind !== undefined && { counted: kind }) };
}

/** Most artifacts are of the same ecosystem, so nothing is found by it. */
function ofEcosystem(ecosystem: Ecosystem, dialect: Dialect): Condition {
  const test = sql<boolean>`${dialect.unindexed("ecosystem")} = ${ecosystem}`;
  return { seek: test, test };
}

/** Whose name has the text in it, in any case. */
function named(query: string, dialect: Dialect): Condition {
  const text = query.toLowerCase();
  const contains = (name: RawBuilder<unknown>) => sql<boolean>`${name} like ${`%${text.replace(/[\\%_]/g, "\\$&")}%`} escape '\\'`;
  // PostgreSQL knows no NUL in a text, so no name has one.
  if (text.includes("\0")) return { seek: sql`1 = 0`, test: sql`1 = 0` };
  const test = contains(sql`lower(${dialect.unindexed("name")})`);
  const gram = rarestGramOf(text);
  if (gram === undefined) return { seek: test, test };
  return {
    test,
    seek: sql`uid in (select g.artifact_uid from library_artifact_gram g where g.gram = ${gram} and ${contains(sql`g.name`)})`,
  };
}

function forCuda(version: string, dialect: Dialect): Condition {
  const built = sql`select v.artifact_uid from library_version v where v.cuda_version = ${version}`;
  return {
    seek: sql`uid in (${built})`,
    test: sql`exists (select 1 from library_version v where v.artifact_uid = ${dialect.unindexed("library_artifact.uid")} and v.cuda_version = ${version})`,
  };
}
