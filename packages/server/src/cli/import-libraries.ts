/** `holtd import libraries`: publishes the packages of a folder, also while the server runs. */
import { parseArgs } from "node:util";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { assertTermsAccepted } from "../api/call/required-terms.ts";
import { createBlobRemoval } from "../blobs/removal.ts";
import type { Config } from "../config.ts";
import { blobReferences, eventSubjects } from "../domains.ts";
import { Parsers } from "../jobs/parsers.ts";
import { type ImportResult, importTree, measureTree } from "../libraries/import/import.ts";
import { createMavenTree } from "../libraries/import/maven-tree.ts";
import { createPythonTree } from "../libraries/import/python-tree.ts";
import { openTree } from "../libraries/import/source-tree.ts";
import { createStaging } from "../libraries/stage.ts";
import { findGroup, interruption } from "./import-group.ts";
import { createImportReport } from "./import-report.ts";
import { openInstallation } from "./open-installation.ts";
import { optionProblemOf } from "./option-problem.ts";

const USAGE = `Usage: holtd import libraries --ecosystem python|java [--group UID|NAME] DIR

Publishes the packages below the folder DIR in the library of a group: wheels
and source distributions of Python, or a repository in the layout of Maven 2.
Published files stay unchanged, so an import can be repeated.

  --ecosystem   python or java
  --group       owner of the library: an organization, a folder such as
                my-org:team-a, or a uid; optional if there is only one
                organization

Exit status: 0 success, 1 the import failed, 2 usage, 3 some files could not be
imported.`;

const OPTIONS = { ecosystem: { type: "string" }, group: { type: "string" }, help: { type: "boolean", short: "h" } } as const;

const FORMATS = {
  python: { ecosystem: Ecosystem.PYTHON, createTree: createPythonTree },
  java: { ecosystem: Ecosystem.JAVA, createTree: createMavenTree },
} as const;

interface Given {
  readonly format: (typeof FORMATS)[keyof typeof FORMATS];
  readonly group: string | undefined;
  readonly folder: string;
}

/** @param args after `import libraries`. @returns the exit status */
export async function importLibraries(args: readonly string[], loadConfig: () => Promise<Config>): Promise<number> {
  const given = await parseGiven(args);
  if (given === "help") {
    console.log(USAGE);
    return 0;
  }
  if (typeof given === "string") {
    console.error(`holtd: ${given}\n\n${USAGE}`);
    return 2;
  }
  const { created, unchanged, problems, others, bytes } = await runImport(given, await loadConfig());
  const counts = `Imported ${created} files; ${unchanged} were published already, ${problems} could not be imported`;
  console.log(`${counts}, ${others} other files were skipped. ${bytes} bytes were read.`);
  return problems > 0 ? 3 : 0;
}

/** @returns a string that says what is wrong with the arguments */
async function parseGiven(args: readonly string[]): Promise<Given | "help" | string> {
  try {
    const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options: OPTIONS });
    if (values.help) return "help";
    const { ecosystem = "", group } = values;
    const [folder, another] = positionals;
    if (ecosystem !== "python" && ecosystem !== "java") return "--ecosystem must be python or java";
    if (group === "") return "--group must name a group";
    if (folder === undefined || folder === "" || another !== undefined) return "name one folder to import";
    return { format: FORMATS[ecosystem], group, folder };
  } catch (error) {
    return optionProblemOf(error, Object.keys(OPTIONS));
  }
}

async function runImport({ format: { ecosystem, createTree }, group, folder }: Given, config: Config): Promise<ImportResult> {
  const { baseUrl, vendorProfile: profile, requiredTerms } = config;
  const tree = await openTree(folder);
  await using installation = await openInstallation(config, {
    use: "command",
    command: `import libraries --ecosystem ${ecosystem} ${folder}`,
  });
  const { store, clock } = installation;
  const blobs = await installation.openBlobs();
  const { bootstrapOwner: owner } = await installation.bootstrap();
  const groupUid = await findGroup(installation, group, owner);
  await assertTermsAccepted(groupUid, requiredTerms, store.reader);
  const format = createTree(profile.remediatedLabels);
  const names = { profile, baseUrl, subjects: eventSubjects, onAppend() {} };
  const actor = { subject: owner, claimsAt: () => ({ iss: baseUrl, sub: owner, aud: baseUrl }) };
  const origin = { remoteAddress: "", userAgent: "holtd import", actor };
  const { signal, release } = interruption();
  await using parsers = new Parsers();
  using report = createImportReport(process.stderr);
  try {
    report.begin(await measureTree({ tree, format, signal }));
    return await importTree(
      {
        library: { groupUid, ecosystem },
        tree,
        format,
        signal,
        parsers,
        publisher: owner,
        change: () => ({ origin, names, now: clock.now() }),
        onProblem: report.problem,
        onProgress: report.progress,
      },
      { store, staging: createStaging({ blobs, removal: createBlobRemoval({ store, blobs, references: blobReferences }) }) },
    );
  } finally {
    release();
  }
}
