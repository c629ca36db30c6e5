/** holt libraries upload: publishes Python packages, and Java artifacts from a Maven repository. */
import type { Verb } from "../command/verb.ts";
import { exitStatus, usageFailure } from "../failure.ts";
import { assertMavenLayout } from "../libraries/assert-maven-layout.ts";
import { type Ecosystem, findPackageFiles, type PackageFile } from "../libraries/package-files.ts";
import { type Outcome, readAttestation, uploadFile } from "../libraries/upload-file.ts";
import { shownText } from "../output/cell.ts";
import type { Row } from "../output/output.ts";
import { startProgress } from "../terminal/progress.ts";

const ECOSYSTEMS = ["python", "java"];
const COLUMNS = ["file", "ecosystem", "size", "outcome"];

/** Failures of one file that say nothing about the next one. */
const OWN_FAULTS: readonly string[] = ["INVALID_ARGUMENT", "ALREADY_EXISTS", "ABORTED", "FAILED_PRECONDITION", "OUT_OF_RANGE"];

export const verb: Verb = {
  path: "libraries upload",
  summary: "Publish Python packages, or the Java artifacts of a Maven repository.",
  description:
    "PATH is a wheel, a source distribution, a folder that contains them such as dist, or a folder in the layout of a Maven " +
    "repository, such as the one that mvn deploy -DaltDeploymentRepository=local::default::file:target/repo writes. Nothing is " +
    "sent if a POM is not in the folder of its artifact. A file that is published already with the same bytes stays as it is, so " +
    "the command can be repeated. A file that the server refuses is a line on standard error, and the exit status is 8.",
  examples: ["holt libraries upload dist --group my-org", "holt libraries upload target/repo --group my-org/team-a --ecosystem java"],
  arguments: [{ name: "path", variadic: true, help: "files and folders" }],
  options: [
    { name: "group", value: "GROUP", kind: "group", help: "the group that owns the library; by default that of the context" },
    { name: "ecosystem", value: "NAME", values: ECOSYSTEMS, help: "python or java; by default a folder with POMs is java" },
    { name: "attestations", help: "send the file *.publish.attestation next to each Python package, too" },
  ],
  async run(invocation) {
    const { list, option, isSet, groupUid, session, output, signal } = invocation;
    const ecosystem = option("ecosystem") as Ecosystem | undefined;
    const files = await findPackageFiles(list("path"), { ecosystem });
    await assertMavenLayout(files);
    const attestations = isSet("attestations") ? await attestationsOf(files) : new Map<PackageFile, string>();
    const group = await groupUid(option("group"));
    const total = files.reduce((sum, { size }) => sum + size, 0);
    const progress = startProgress({ title: "Uploading", total, unit: "bytes" });
    const { rest } = session();
    const rows: Row[] = [];
    try {
      for (const file of files) {
        const upload = { rest, group, attestations: attestations.get(file), onBytes: progress.add, signal };
        const outcome = await tryUpload(file, () => uploadFile(file, upload), progress.end);
        if (outcome !== undefined) rows.push({ file: file.place ?? file.path, ecosystem: file.ecosystem, size: file.size, outcome });
      }
    } finally {
      progress.end();
    }
    await output.rows(rows, { columns: COLUMNS, name: ({ file }) => String(file) });
  },
};

async function attestationsOf(files: readonly PackageFile[]): Promise<ReadonlyMap<PackageFile, string>> {
  const attestations = new Map<PackageFile, string>();
  for (const file of files) {
    const found = file.ecosystem === "python" ? await readAttestation(file.path) : undefined;
    if (found === undefined)
      throw usageFailure(`${file.path} has no attestation`, `make ${file.path}.publish.attestation, or leave out --attestations`);
    attestations.set(file, found);
  }
  return attestations;
}

/** @returns undefined if the server refuses the file for what it is */
async function tryUpload({ path }: PackageFile, upload: () => Promise<Outcome>, endProgress: () => void): Promise<Outcome | undefined> {
  try {
    return await upload();
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (code === undefined || !OWN_FAULTS.includes(code)) throw error;
    endProgress();
    process.stderr.write(`${shownText(path)}: ${shownText(message)}\n`);
    process.exitCode = exitStatus.invalid;
    return undefined;
  }
}
