/** Fills an organization with advisories. The server's own code computes the derived columns, and rows are written table by table. */

import { create } from "@bufbuild/protobuf";
import { GroupSchema } from "@holt/api/gen/platform/iam/v2/groups_pb.ts";
import { appendToAdvisoryCounts } from "../../packages/server/src/advisories/storage/count.ts";
import { deriveAdvisory } from "../../packages/server/src/advisories/storage/derive.ts";
import type { AdvisoryTable } from "../../packages/server/src/advisories/tables.ts";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { groups } from "../../packages/server/src/iam/api/groups.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid } from "../../packages/server/src/lib/uid.ts";
import { suffixesOf } from "../../packages/server/test/harness/advisories/suffixes.ts";
import { bootstrapDatabase, insertAll, openSink, type Target } from "../data/fill.ts";
import { countsOf, type Row, rowOf, timeOf, timesOf } from "../data/rows.ts";
import { type FilledImages, fillImages } from "./images.ts";
import { sampleAdvisory } from "./sample.ts";

export interface AdvisoryContents {
  readonly organization: string;
  readonly advisories: number;
  readonly images: FilledImages;
  /** Some of the advisories, for queries. */
  readonly samples: readonly {
    readonly uid: string;
    readonly advisoryId: string;
    readonly alias: string;
    readonly name: string;
    readonly location: string;
  }[];
}

const FOLDERS = 10;
const SAMPLES = 100;
const ADVISORIES_PER_BATCH = 2000;

export async function fillAdvisories(target: Target, advisories: number): Promise<AdvisoryContents> {
  const started = performance.now();
  const organization = await bootstrapDatabase(target);
  const folders = Array.from({ length: FOLDERS }, () => newUid(organization));
  const sink = await openSink(target);
  await insertAll(
    sink,
    "group",
    folders.map((uid, i) => rowOf(groups, create(GroupSchema, { uid, name: `folder-${i}`, ...timesOf(timeOf(0)) }), timeOf(0))),
  );
  await insertAll(sink, "resource_count", countsOf("group", new Map([[organization, FOLDERS]])));
  const countedRows: CountedColumns[] = [];
  const aliasRows: Row[] = [];
  const uidsByTerm = new Map<string, string[]>();
  const samples: AdvisoryContents["samples"][number][] = [];
  for (let done = 0; done < advisories; ) {
    const rows: Row[] = [];
    for (; rows.length < ADVISORIES_PER_BATCH && done < advisories; done++) {
      const parent = Math.random() < 0.8 ? organization : (folders[done % FOLDERS] as string);
      const advisory = sampleAdvisory(parent, done / advisories);
      const { row: fullRow, aliases, terms: advisoryTerms } = deriveAdvisory(advisory);
      const { body, ...row } = fullRow;
      rows.push({ ...row, body } as unknown as Row);
      countedRows.push(countedOf(row));
      for (const alias of aliases) aliasRows.push({ alias, advisory_uid: advisory.id });
      for (const term of advisoryTerms) {
        const known = uidsByTerm.get(term);
        if (known === undefined) uidsByTerm.set(term, [advisory.id]);
        else known.push(advisory.id);
      }
      const { id: uid, advisoryId, artifactName: name, componentLocation: location = "" } = advisory;
      if (samples.length < SAMPLES && done % Math.ceil(advisories / SAMPLES) === 0 && name !== "linux")
        samples.push({ uid, advisoryId, alias: advisory.aliases[0] ?? "", name, location });
    }
    await insertAll(sink, "advisory", rows);
  }
  await insertAll(
    sink,
    "advisory_alias",
    aliasRows.sort((a, b) => compare(a.alias, b.alias) || compare(a.advisory_uid, b.advisory_uid)),
  );
  const sorted = [...uidsByTerm].sort(([a], [b]) => compare(a, b));
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
  await count(target, countedRows);
  console.log(`  filled ${advisories} advisories in ${Math.round((performance.now() - started) / 1000)} s`);
  return { organization, advisories, images, samples };
}

type CountedColumns = Omit<AdvisoryTable, "body">;

/** Clears columns that the counts do not need, to save memory. */
function countedOf(row: CountedColumns): CountedColumns {
  return { ...row, about: "", first_alias: "", advisory_id: "", component_location: "", component_name: "", artifact_name: "" };
}

async function count(target: Target, rows: readonly CountedColumns[]): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
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
