/** `holtd import advisories` and `holtd import vulnerabilities`: import records from files of many formats, also while the server runs. */
import { access, constants } from "node:fs/promises";
import { parseArgs } from "node:util";
import { FIRST_ORGANIZATION } from "../advisories/documents/publication.ts";
import { importRecords } from "../advisories/import/import.ts";
import type { ImportOptions, ImportResult } from "../advisories/import/import-options.ts";
import { createRecordReader } from "../advisories/import/record-reader.ts";
import type { Config } from "../config.ts";
import { readState } from "../db/server-state.ts";
import { cannotRead } from "../lib/file-problem.ts";
import { findGroup, interruption } from "./import-group.ts";
import { createImportReport } from "./import-report.ts";
import { type Installation, openInstallation } from "./open-installation.ts";
import { optionProblemOf } from "./option-problem.ts";

const COMMON = `Paths are files, folders and archives (zip, tar, tar.gz) in any mix. Known
records stay unchanged, so an import can be repeated and continues where the
last one ended.`;
const STATUS = `Exit status: 0 success, 1 the import failed, 2 usage, 3 some records could not
be used.`;

const usages = {
  advisories: `Usage: holtd import advisories [--group UID|NAME] PATH...

Imports advisories of packages: Wolfi and Chainguard YAML, OSV, OpenVEX, CSAF
2.0, secdb JSON. A file holds one document, a list, or one document per line.

${COMMON}

  --group       owner of the advisories: an organization, a folder such as
                my-org:team-a, or a uid; by default the organization that the
                first start created

${STATUS}`,
  vulnerabilities: `Usage: holtd import vulnerabilities PATH...

Imports metadata of vulnerabilities for all organizations: OSV records and CVE
records (format version 5).

${COMMON}

${STATUS}`,
} as const;

const OPTIONS = { group: { type: "string" }, help: { type: "boolean", short: "h" } } as const;

type Kind = keyof typeof usages;

interface Given {
  readonly kind: Kind;
  readonly group: string | undefined;
  readonly paths: readonly string[];
}

/** @param args after `import advisories`. @returns the exit status */
export function importAdvisories(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return runCommand("advisories", args, loadConfig);
}

/** @param args after `import vulnerabilities`. @returns the exit status */
export function importVulnerabilities(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  return runCommand("vulnerabilities", args, loadConfig);
}

async function runCommand(kind: Kind, args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  const given = await parseGiven(kind, args);
  if (given === "help") {
    console.log(usages[kind]);
    return 0;
  }
  if (typeof given === "string") {
    console.error(`holtd: ${given}\n\n${usages[kind]}`);
    return 2;
  }
  for (const path of given.paths) await assertReadable(path);
  const { read, created, updated, unchanged, ignored, problems } = await runImport(given, await loadConfig());
  console.log(`Read ${read} ${kind}: ${created} are new, ${updated} have changed, ${unchanged} were known already.`);
  console.log(`Problems: ${problems}. Files without such records: ${ignored}.`);
  return problems > 0 ? 3 : 0;
}

/** @throws Error for the operator before anything is imported */
async function assertReadable(path: string): Promise<void> {
  await access(path, constants.R_OK).catch((error: unknown) => {
    throw cannotRead(path, error);
  });
}

/** @returns a string that says what is wrong with the arguments */
async function parseGiven(kind: Kind, args: readonly string[]): Promise<Given | "help" | string> {
  try {
    const { values, positionals: paths } = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
    if (values.help) return "help";
    if (values.group === "") return "--group must name a group";
    if (values.group !== undefined && kind === "vulnerabilities") return "vulnerabilities belong to no group: omit --group";
    if (paths.length === 0 || paths.includes("")) return "name at least one path to import";
    return { kind, group: values.group, paths };
  } catch (error) {
    return optionProblemOf(error, Object.keys(OPTIONS));
  }
}

async function runImport({ kind, group, paths }: Given, config: Config): Promise<ImportResult> {
  await using installation = await openInstallation(config, { use: "bulk", command: `import ${kind} ${paths.join(" ")}` });
  const { store, clock } = installation;
  const { bootstrapOwner: actor } = await installation.bootstrap();
  const parent = kind === "vulnerabilities" ? "" : await groupOf(installation, group, actor);
  const { signal, release } = interruption();
  // Access to the database is proof enough to approve and delete, too.
  await using reader = createRecordReader();
  const options = {
    store,
    reader,
    clock,
    kind,
    parent,
    approves: true,
    mayDelete: true,
    actor,
    signal,
    batchesPerTransaction: BATCHES_PER_TRANSACTION,
  };
  try {
    const total = { read: 0, created: 0, updated: 0, unchanged: 0, ignored: 0, problems: 0 };
    for (const path of paths) addTo(total, await importPath(path, options));
    return total;
  } finally {
    release();
  }
}

/**
 * A thousand records take a tenth of a second or two, for which a server's writes wait. Larger transactions would write fewer pages, and
 * keep the server waiting longer.
 */
const BATCHES_PER_TRANSACTION = 2;

async function importPath(path: string, options: Omit<ImportOptions, "path" | "onProblem">): Promise<ImportResult> {
  using report = createImportReport(process.stderr, "records");
  return await importRecords({
    ...options,
    path,
    onProblem: ({ file, position, reason }) => report.problem(position === "" ? file : `${file}:${position}`, reason),
    onProgress({ read, bytes, totalBytes = 0, problems }) {
      report.begin(totalBytes);
      report.progress({ files: read, bytes, problems });
    },
  });
}

function addTo(total: { -readonly [name in keyof ImportResult]: number }, result: ImportResult): void {
  for (const name of Object.keys(total) as (keyof ImportResult)[]) total[name] += result[name];
}

async function groupOf({ store, grants }: Installation, group: string | undefined, owner: string): Promise<string> {
  const first = group === undefined ? await readState(store.reader, FIRST_ORGANIZATION) : undefined;
  const isThere = first !== undefined && (await store.reader.selectFrom("group").select("uid").where("uid", "=", first).executeTakeFirst());
  return isThere ? first : findGroup({ store, grants }, group, owner);
}
