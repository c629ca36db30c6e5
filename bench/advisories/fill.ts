/** Fills an organization with advisories: what is derived of them is derived by the server's own code, and written in the order of its tables. */

import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { appendToAdvisoryCounts } from "../../packages/server/src/advisories/storage/count.ts";
import { deriveAdvisory } from "../../packages/server/src/advisories/storage/derive.ts";
import { suffixesOf } from "../../packages/server/src/advisories/storage/search-terms.ts";
import type { AdvisoryTable } from "../../packages/server/src/advisories/tables.ts";
import { openStore } from "../../packages/server/src/db/open.ts";
import { groups } from "../../packages/server/src/iam/api/groups.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { begin, insertAll, openSink, type Target } from "../data/fill.ts";
import { countsOf, type Row, rowOf, timeOf, timesOf } from "../data/rows.ts";
import { type FilledImages, fillImages } from "./images.ts";
import { sampleAdvisory } from "./sample.ts";

export interface AdvisoryContents {
  readonly organization: string;
  readonly advisories: number;
  readonly images: FilledImages;
  /** A few of what is in it, to be asked for. */
  readonly some: readonly {
    readonly uid: string;
    readonly advisoryId: string;
    readonly alias: string;
    readonly name: string;
    readonly location: string;
  }[];
}

const FOLDERS = 10;
const SOME = 100;
const PIECE = 2000;

export async function fillAdvisories(target: Target, advisories: number): Promise<AdvisoryContents> {
  const started = performance.now();
  const organization = await begin(target);
  const folders = Array.from({ length: FOLDERS }, () => newUid(organization));
  const sink = await openSink(target);
  await insertAll(
    sink,
    "group",
    folders.map((uid, i) => rowOf(groups, create(GroupSchema, { uid, name: `folder-${i}`, ...timesOf(timeOf(0)) }), timeOf(0))),
  );
  await insertAll(sink, "resource_count", countsOf("group", new Map([[organization, FOLDERS]])));
  const [kinds, links, terms] = [[] as CountedColumns[], [] as Row[], new Map<string, string[]>()];
  const some: AdvisoryContents["some"][number][] = [];
  for (let done = 0; done < advisories; ) {
    const rows: Row[] = [];
    for (; rows.length < PIECE && done < advisories; done++) {
      const parent = Math.random() < 0.8 ? organization : (folders[done % FOLDERS] as string);
      const advisory = sampleAdvisory(parent, done / advisories);
      const { row: whole, aliases, terms: words } = deriveAdvisory(advisory);
      const { body, ...row } = whole;
      rows.push({ ...row, body } as unknown as Row);
      kinds.push(countedOf(row));
      for (const alias of aliases) links.push({ alias, advisory_uid: advisory.id });
      for (const term of words) terms.set(term, [...(terms.get(term) ?? []), advisory.id]);
      const { id: uid, advisoryId, artifactName: name, componentLocation: location = "" } = advisory;
      if (some.length < SOME && done % Math.ceil(advisories / SOME) === 0 && name !== "linux")
        some.push({ uid, advisoryId, alias: advisory.aliases[0] ?? "", name, location });
    }
    await insertAll(sink, "advisory", rows);
  }
  await insertAll(
    sink,
    "advisory_alias",
    links.sort((a, b) => compare(a.alias, b.alias) || compare(a.advisory_uid, b.advisory_uid)),
  );
  const sorted = [...terms].sort(([a], [b]) => compare(a, b));
  await insertAll(
    sink,
    "advisory_term",
    sorted.flatMap(([term, uids]) => uids.sort().map((uid) => ({ term, advisory_uid: uid }))),
  );
  const suffixes = sorted.flatMap(([term]) => suffixesOf(term).map((suffix) => ({ suffix, term })));
  await insertAll(
    sink,
    "advisory_suffix",
    suffixes.sort((a, b) => compare(a.suffix, b.suffix) || compare(a.term, b.term)),
  );
  await insertAll(sink, "vulnerability", vulnerabilities(sorted.map(([term]) => term)));
  const images = await fillImages(sink, organization);
  await sink.finish();
  await count(target, kinds);
  console.log(`  filled ${advisories} advisories in ${Math.round((performance.now() - started) / 1000)} s`);
  return { organization, advisories, images, some };
}

type CountedColumns = Omit<AdvisoryTable, "body">;

/** Without what would only take up memory. */
function countedOf(row: CountedColumns): CountedColumns {
  return { ...row, about: "", first_alias: "", advisory_id: "", component_location: "", component_name: "", artifact_name: "" };
}

async function count(target: Target, rows: readonly CountedColumns[]): Promise<void> {
  await using store = await openStore({ ...target, log: createLog("warn") });
  for (let start = 0; start < rows.length; start += 50_000)
    await store.transaction((db) =>
      appendToAdvisoryCounts(
        db,
        rows.slice(start, start + 50_000).map((after) => ({ after: { ...after, body: "" } })),
      ),
    );
}

function* vulnerabilities(terms: readonly string[]): Iterable<Row> {
  const time = timeOf(0).toISOString();
  const severities = '[{"type":"TYPE_CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:H"}]';
  for (const term of terms)
    if (term.startsWith("cve-")) {
      const id = term.toUpperCase();
      yield {
        id,
        update_time: time,
        modified_time: time,
        severities,
        body: JSON.stringify({ id, summary: "A vulnerability of the benchmark" }),
      };
    }
}

function compare(a: unknown, b: unknown): number {
  return String(a) < String(b) ? -1 : a === b ? 0 : 1;
}
