/** Helm charts in version 1 of the API: charts that were pushed, and the charts that use the images of a repo. */
import { create } from "@bufbuild/protobuf";
import { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import {
  ChartImageBindingSchema,
  ChartSchema,
  HelmSchema,
  ListChartsByImageRepoResponseSchema,
  type Registry,
} from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { capabilitySet } from "../../../access/capability-set.ts";
import type { Call } from "../../../api/call/call.ts";
import { type Handlers, read } from "../../../api/call/implement.ts";
import type { BlobStore } from "../../../blobs/store.ts";
import type { ReadDb } from "../../../db/store.ts";
import type { Parsers } from "../../../jobs/parsers.ts";
import { notFound } from "../../../lib/errors.ts";
import { rootOf } from "../../../lib/uid.ts";
import { chartParser } from "../../charts/chart-parser.ts";
import { type BoundChart, type ChartSources, findChart, findChartsOf } from "../../charts/find-charts.ts";
import type { ReadChart } from "../../charts/read-chart.ts";
import { withBlobFile } from "../../content/blob-file.ts";
import { MAX_CHART_BYTES } from "../../content/document-sizes.ts";
import { repositoryNames } from "../../repository-names.ts";

export interface ChartCollaborators {
  readonly blobs: BlobStore;
  readonly parsers: Parsers;
  /** Images name repositories with this host. */
  readonly registryHost: string;
}

const READS_CHARTS = capabilitySet([Capability.CAP_REPO_LIST]);

export function charts(collaborators: ChartCollaborators) {
  const { registryHost } = collaborators;
  return {
    getChart: read(async ({ repoId, digest }, call) =>
      create(ChartSchema, await readChartAt(repoId, digest, { ...collaborators, db: call.db })),
    ),
    getHelm: read(async ({ repoId, digest }, call) => {
      const place = await findPlace(repoId, digest, call, collaborators);
      const chart = await readChartAt(place.repoUid, place.digest, { ...collaborators, db: call.db });
      const [repository = ""] = await namesOf([place.repoUid], call);
      return create(HelmSchema, {
        chartName: chart.name,
        chartVersion: chart.version,
        // Helm adds the name of the chart.
        chartRepository: `oci://${registryHost}/${repository.slice(0, repository.lastIndexOf("/"))}`,
        chartDigest: place.digest,
        values: chart.values,
      });
    }),
    listChartsByImageRepo: read(async ({ repoId }, call) => {
      const bound = bestOfEachRepo(await findBoundCharts(repoId, call, registryHost));
      const names = await namesOf([...bound.keys()], call);
      const bindings = [...bound.values()].map(({ requirement }, i) =>
        create(ChartImageBindingSchema, { chartRepo: names[i] ?? "", requirement }),
      );
      const chartImageBindings = bindings.sort((a, b) => (a.chartRepo < b.chartRepo ? -1 : 1));
      return create(ListChartsByImageRepoResponseSchema, { chartImageBindings });
    }),
  } satisfies Handlers<typeof Registry>;
}

/** @throws NOT_FOUND if the digest is not a chart; FAILED_PRECONDITION if the chart cannot be read */
async function readChartAt(repoUid: string, digest: string, sources: ChartSources): Promise<ReadChart> {
  const archive = await findChart(repoUid, digest, sources);
  if (archive === undefined) throw notFound("Chart", digest.slice(0, 200));
  return withBlobFile(sources.blobs, archive, MAX_CHART_BYTES, (file) => sources.parsers.run(chartParser, file, repoUid));
}

interface ChartPlace {
  readonly repoUid: string;
  readonly digest: string;
}

/** The chart itself, or for an image the newest chart that uses images of its repo. @throws NOT_FOUND */
async function findPlace(repoUid: string, digest: string, call: Call, collaborators: ChartCollaborators): Promise<ChartPlace> {
  if ((await findChart(repoUid, digest, { ...collaborators, db: call.db })) !== undefined) return { repoUid, digest };
  const query = call.db.selectFrom("manifest").select("digest").where("repo_uid", "=", repoUid).where("digest", "=", digest);
  const [newest] = (await query.executeTakeFirst()) === undefined ? [] : await findBoundCharts(repoUid, call, collaborators.registryHost);
  if (newest === undefined) throw notFound("Chart", digest.slice(0, 200));
  return newest;
}

/** Charts that the caller can see, in the organization of the repo. */
async function findBoundCharts(repoUid: string, call: Call, registryHost: string): Promise<BoundChart[]> {
  const names = await spellingsOf(repoUid, call);
  const charts = await findChartsOf(
    call.db,
    rootOf(repoUid),
    names.map((name) => `${registryHost}/${name}`),
  );
  return charts.filter((chart) => call.access.holds(READS_CHARTS, chart.repoUid));
}

/** The names by which charts may refer to the repo: with names, with the organization's uid, and with uids only. */
async function spellingsOf(repoUid: string, call: Call): Promise<string[]> {
  const [name] = await namesOf([repoUid], call);
  if (name === undefined) return [];
  const [, ...path] = name.split("/");
  return [...new Set([name, [rootOf(repoUid), ...path].join("/"), repoUid])];
}

/** The names of repos that exist. */
async function namesOf(uids: readonly string[], { db, access }: Pick<Call, "db" | "access">): Promise<string[]> {
  const rows = await findRepos(db, uids);
  const inOrder = uids.flatMap((uid) => rows.filter((row) => row.uid === uid));
  return repositoryNames(db, inOrder, access);
}

function findRepos(db: ReadDb, uids: readonly string[]) {
  return db
    .selectFrom("repo")
    .select(["uid", "name"])
    .where("uid", "in", (eb) => eb.selectFrom(db.dialect.valuesOf(uids).as("v")).select("v.value"))
    .execute();
}

/** A repo may hold many versions of a chart. */
function bestOfEachRepo(charts: readonly BoundChart[]): ReadonlyMap<string, BoundChart> {
  const best = new Map<string, BoundChart>();
  for (const chart of charts) if (!best.has(chart.repoUid)) best.set(chart.repoUid, chart);
  return best;
}
