/** `holtd verify`: compares the database with the blobs, the audit log with its chains, and the counts with the rows. */
import { checkAdvisoryCounts } from "../advisories/storage/check-counts.ts";
import { checkBlobs } from "../blobs/check-blobs.ts";
import type { Config } from "../config.ts";
import { findCountErrors, repairCounts } from "../db/count-check.ts";
import { sqlitePath } from "../db/open.ts";
import { problemsOfSqlite } from "../db/sqlite-copy.ts";
import type { Store } from "../db/store.ts";
import { blobReferences, countedRows } from "../domains.ts";
import { checkNameCounts } from "../libraries/check-name-counts.ts";
import { checkManifests } from "../registry/content/check-manifests.ts";
import { verifyAudit } from "./audit.ts";
import { createImportReport, type ImportReport } from "./import-report.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { withOptions } from "./parse-options.ts";

const USAGE = `Usage: holtd verify [--quick] [--repair]

Checks an installation, while the server runs or not: the pages and references
of the SQLite file, the bytes of every blob, the blobs and tags of every
manifest, the audit chains, and the counts of rows below each group. Prints a
line for each problem.

  --quick    compare only the sizes of blobs, without reading them
  --repair   correct wrong counts

Exit status: 0 no problem, or all are repaired, 1 the check failed, 2 usage, 3
there are problems.`;

const SPEC = { usage: USAGE, options: { quick: { type: "boolean" }, repair: { type: "boolean" } }, positionals: 0 } as const;

/** @param args after `verify`. @returns the exit status */
export async function verify(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return withOptions(SPEC, args, async ({ values }) => {
    const config = await loadConfig();
    const command = values.repair === true ? { command: "verify --repair" } : {};
    await using installation = await openInstallation(config, { use: "command", ...command });
    const options = { readsAll: values.quick !== true, repairs: values.repair === true };
    const { checked, problems, repaired } = await verifyInstallation(installation, config, options);
    const fixed = repaired === 0 ? "" : ` ${repaired} counts were repaired.`;
    console.log(`Checked ${checked}: ${problems === 0 ? "no problems" : `${problems} problems`}.${fixed}`);
    return problems > 0 ? 3 : 0;
  });
}

export interface Verification {
  /** The checked things, for people. */
  readonly checked: string;
  readonly problems: number;
  readonly repaired: number;
}

export async function verifyInstallation(
  installation: Installation,
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
  { readsAll, repairs }: { readonly readsAll: boolean; readonly repairs: boolean },
): Promise<Verification> {
  const { store } = installation;
  let problems = 0;
  const say = (problem: string): void => {
    problems++;
    console.log(problem);
  };
  if (databaseUrl === "") for (const problem of problemsOfSqlite(sqlitePath(dataDir))) say(`the database: ${problem}`);
  using report = createImportReport(process.stderr, "blobs");
  const blobs = await checkAllBlobs(installation, { readsAll, report, say });
  const { manifests } = await checkManifests(store.reader, say);
  const audit = await verifyAudit(installation, (line, isProblem) => (isProblem ? say(`the audit log: ${line}`) : undefined));
  const repaired = await checkCounts(store, { repairs, say });
  return { checked: `${blobs} blobs, ${manifests} manifests, ${audit.chains} audit chains and the counts`, problems, repaired };
}

/** Counts of tables of their own, by what they are counts of. */
const OTHER_COUNTS = { "names of libraries": checkNameCounts, "kinds and people of advisories": checkAdvisoryCounts } as const;

interface CountRun {
  readonly repairs: boolean;
  say(problem: string): void;
}

/** @returns the number of repaired counts */
async function checkCounts(store: Store, { repairs, say }: CountRun): Promise<number> {
  const errors = await store.snapshot((db) => findCountErrors(db, countedRows));
  for (const { kind, group, missing } of repairs ? [] : errors)
    say(`the count of ${kind} below ${group} is wrong by ${-missing.below} (direct: ${-missing.direct}); --repair corrects it`);
  if (repairs && errors.length > 0) await store.transaction((db) => repairCounts(db, errors));
  let repaired = repairs ? errors.length : 0;
  for (const [subject, check] of Object.entries(OTHER_COUNTS)) {
    const { wrong, repair } = await store.snapshot(check);
    if (wrong > 0 && repairs) await store.transaction(repair);
    else if (wrong > 0) say(`${wrong} counts of ${subject} are wrong; --repair corrects them`);
    if (repairs) repaired += wrong;
  }
  return repaired;
}

interface BlobRun {
  readonly readsAll: boolean;
  readonly report: ImportReport;
  say(problem: string): void;
}

async function checkAllBlobs(installation: Installation, { readsAll, report, say }: BlobRun): Promise<number> {
  const { store } = installation;
  const sum = await store.reader
    .selectFrom("blob")
    .select((eb) => eb.fn.sum<number>("size").as("bytes"))
    .executeTakeFirst();
  report.begin(Number(sum?.bytes ?? 0));
  const seen = { files: 0, bytes: 0, problems: 0 };
  const { blobs } = await checkBlobs({
    db: store.reader,
    blobs: await installation.openBlobs(),
    references: blobReferences,
    readsAll,
    onBlob(size) {
      seen.files++;
      seen.bytes += size;
      report.progress(seen);
    },
    onProblem: say,
  });
  return blobs;
}
