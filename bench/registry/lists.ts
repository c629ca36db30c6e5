/** Measures lists of the management API in a large registry: repos below the organization, and tags of one repo. */
import { newUid, parentOf } from "../../packages/server/src/lib/uid.ts";
import { digestOf } from "../../packages/server/test/harness/registry/registry-client.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import { countsOf, groupRows, planRows, type Row, randomName } from "../data/rows.ts";
import { type Filled, openDataset, type StoreName } from "../data/stores.ts";
import { latency } from "../latency.ts";
import { compareRest } from "../limit/compare.ts";
import { listPlan, type Rows, rowsByName } from "../limit/plans.ts";
import type { Line } from "../report.ts";
import { scale } from "../scale.ts";
import { serveFilled } from "../servers.ts";
import { repoCounts, repoRow, tagRow } from "./rows.ts";

const LIMIT_MS = { sqlite: 15, postgres: 30 };
const TARGETS = { limit: { sqlite: 0.6, postgres: 0.5 }, bare: 0.2 };
const PAGE_SIZE = 50;

export interface Contents {
  readonly organization: string;
  readonly repo: string;
  readonly repos: number;
  readonly tags: number;
}

/** A registry with one repository per row, and a fifth as many groups. */
export function openRegistry(store: StoreName): Promise<Filled<Contents>> {
  const repos = scale.rows;
  const sources = ["bench/data/rows.ts", "bench/registry/rows.ts", "bench/registry/lists.ts"];
  return openDataset(store, { key: `repos_${repos}`, sources, fill: (target) => fill(target, repos, repos / 10) });
}

export async function registryLists(store: StoreName): Promise<Line[]> {
  const { rows: repos } = scale;
  const tags = repos / 10;
  const filled = await openRegistry(store);
  await using cleanUp = new AsyncDisposableStack();
  const holt = await serveFilled(filled);
  cleanUp.use(holt.server);
  const { organization, repo } = holt.contents;
  const lines: Line[] = [];
  const tagRows = (sql: string): Rows => ({ sql: `tag where ${sql}`, values: [repo], counted: [repo, "plain_tag"] });
  for (const [measured, path, rows] of [
    [
      `${PAGE_SIZE} of ${repos} repos by name`,
      `/registry/v2/repos?uidp.descendants_of=${organization}&order_by=name&page_size=${PAGE_SIZE}`,
      rowsByName(store, "repo", organization),
    ],
    [
      `${PAGE_SIZE} of ${tags} tags of a repo`,
      `/registry/v2/tags?uidp.children_of=${repo}&page_size=${PAGE_SIZE}`,
      tagRows("parent = ? and class = 0 order by uid"),
    ],
    [
      `${PAGE_SIZE} of ${tags} tags of a repo by name`,
      `/registry/v2/tags?uidp.children_of=${repo}&order_by=name&page_size=${PAGE_SIZE}`,
      tagRows("parent = ? and class = 0 order by name"),
    ],
  ] as const) {
    const answer = await holt.fetch("GET", path);
    const requests = [holt.request("GET", path)];
    lines.push(await latency(measured, holt, requests, LIMIT_MS[store]));
    lines.push(
      await compareRest({
        measured: `${measured}, ${scale.connections} clients`,
        holt,
        plan: listPlan(holt, rows, PAGE_SIZE, answer),
        targets: TARGETS,
        load: { connections: scale.connections, requests },
        answer,
      }),
    );
  }
  return lines;
}

/** Uses the tree of groups of the other benchmarks, with a repo in place of each identity. */
async function fill(target: Target, rows: number, tags: number): Promise<Contents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const plan = planRows(organization, rows);
  const repo = newUid(organization);
  const tagsOf = new Map([[repo, tags]]);
  const sink = await openSink(target);
  await insertAll(sink, "group", groupRows(plan));
  await insertAll(sink, "repo", repoRows());
  await insertAll(sink, "tag", tagRows());
  await insertAll(sink, "resource_count", counts());
  await sink.finish();
  console.log(`  filled ${tagsOf.size} repos in ${Math.round((performance.now() - started) / 1000)} s`);
  return { organization, repo, repos: tagsOf.size, tags };

  function* repoRows(): Iterable<Row> {
    yield repoRow(repo, "many-tags", 0);
    for (const [i, parent] of plan.parents.entries()) {
      const uid = newUid(plan.groups[parent] ?? organization);
      tagsOf.set(uid, 0);
      yield repoRow(uid, randomName(), i / plan.parents.length);
    }
  }
  function* tagRows(): Iterable<Row> {
    for (let i = 0; i < tags; i++) yield tagRow(repo, `v${(i * 7919) % tags}.${i}`, digestOf(`${i}`), i / tags);
  }
  function* counts(): Iterable<Row> {
    const direct = new Map<string, number>();
    for (const group of plan.groups) {
      const parent = parentOf(group);
      direct.set(parent, (direct.get(parent) ?? 0) + 1);
    }
    yield* countsOf("group", direct);
    yield* repoCounts(tagsOf);
  }
}
