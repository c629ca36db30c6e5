/**
 * The thread that reads images and SBOMs, so that unpacking and parsing do not block calls, and can be aborted at any
 * time.
 */
import { doJobs } from "../../jobs/job-thread.ts";
import { createReadPaths, type ReadPaths, standardPaths } from "./database-paths.ts";
import { type FoundPackage, Unreadable } from "./found-package.ts";
import { ImageFiles } from "./image-files.ts";
import { createPackageCollector, type PackageCollector } from "./package-collector.ts";
import { distributionOf, readDatabases } from "./read-databases.ts";
import { Allowance, readLayer } from "./read-layer.ts";
import type { BlobDescriptor, ReadingAnswer, ReadingJob, ReadingQuestion, ReadResult } from "./reading-protocol.ts";
import { readSbom } from "./sbom.ts";

/** In bytes. Documents are parsed as a whole. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

type Ask = (question: ReadingQuestion) => Promise<ReadingAnswer>;

doJobs<ReadingJob, ReadingQuestion, ReadingAnswer, ReadResult>((job, { say, reply }) =>
  read(job, (question) => {
    say(question);
    return reply();
  }),
);

/**
 * Does not read foreign blobs: the client that pushed the manifest need not have had access to them.
 * @throws Unreadable if the blob is foreign or missing
 */
async function* readChunks(blob: BlobDescriptor, ask: Ask): AsyncGenerator<Uint8Array> {
  if (blob.isForeign) throw new Unreadable("the content is not stored in this registry (it has urls)");
  if ((await ask({ kind: "open", blob })) === "missing") throw new Unreadable("the registry does not have the blob");
  for (let bytes = await ask({ kind: "next" }); bytes instanceof Uint8Array; bytes = await ask({ kind: "next" })) yield bytes;
}

async function read(job: ReadingJob, ask: Ask): Promise<ReadResult> {
  const list = createPackageCollector(async (packages) => void (await ask({ kind: "found", packages })));
  const problems: string[] = [];
  let distribution = "";
  try {
    distribution = job.kind === "image" ? await readImage(job, list, problems, ask) : await readDocuments(job, list, problems, ask);
  } catch (error) {
    problems.push(reasonOf(error));
  }
  await list.flush();
  const isWhole = problems.length === 0;
  for (const [location, count] of list.unreadable)
    problems.push(`${location}: ${count === 1 ? "one entry is" : `${count} entries are`} without a readable name and version`);
  return { distribution, isWhole, problems };
}

async function readImage(
  { layers, tempFolder }: ReadingJob & { kind: "image" },
  list: PackageCollector,
  problems: string[],
  ask: Ask,
): Promise<string> {
  const { files, problems: found } = await readFiles(layers, standardPaths, ask);
  problems.push(...found);
  const { id, version } = distributionOf(files);
  await addAll(
    readDatabases(files, tempFolder, (path, reason) => problems.push(`${path}: ${reason}`)),
    list,
  );
  return `${id} ${version}`.trim();
}

interface ReadFiles {
  readonly files: ImageFiles;
  readonly problems: readonly string[];
}

/** How often the layers are read. */
const MAX_PASSES = 3;

/** Reads the layers again if symbolic links lead to files that were not read, since layers are not kept. */
async function readFiles(layers: readonly BlobDescriptor[], paths: ReadPaths, ask: Ask): Promise<ReadFiles> {
  let read = await readOnce(layers, paths, ask);
  const aliases = new Map<string, string>();
  for (let pass = 1; pass < MAX_PASSES; pass++) {
    const targets = read.files.unreadTargets();
    if (targets.size === 0) break;
    for (const [target, path] of targets) aliases.set(target, path);
    read = await readOnce(layers, createReadPaths(aliases), ask);
  }
  return read;
}

async function readOnce(layers: readonly BlobDescriptor[], paths: ReadPaths, ask: Ask): Promise<ReadFiles> {
  const files = new ImageFiles(paths);
  const problems: string[] = [];
  const allowance = new Allowance();
  for (const layer of layers) {
    try {
      files.apply(await readLayer(readChunks(layer, ask), layer.size, files, allowance));
    } catch (error) {
      problems.push(`layer ${layer.digest}: ${reasonOf(error)}`);
    }
  }
  return { files, problems };
}

async function readDocuments(
  { documents, subject }: ReadingJob & { kind: "sbom" },
  list: PackageCollector,
  problems: string[],
  ask: Ask,
): Promise<string> {
  for (const document of documents) {
    try {
      await addAll(readSbom(await readWhole(document, ask), { location: document.digest, subject }), list);
    } catch (error) {
      problems.push(`${document.digest}: ${reasonOf(error)}`);
    }
  }
  return "";
}

async function addAll(packages: Iterable<FoundPackage>, list: PackageCollector): Promise<void> {
  for (const found of packages) await list.add(found);
}

async function readWhole(document: BlobDescriptor, ask: Ask): Promise<Uint8Array> {
  if (document.size > MAX_DOCUMENT_BYTES) throw new Unreadable(`the document is larger than ${MAX_DOCUMENT_BYTES >> 20} MiB`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of readChunks(document, ask)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The message of an Unreadable. @throws every other error */
function reasonOf(error: unknown): string {
  if (error instanceof Unreadable) return error.message;
  throw error;
}
