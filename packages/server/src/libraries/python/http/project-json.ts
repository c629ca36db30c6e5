/** Serves `pypi/<name>/json` and `pypi/<name>/<version>/json`: what tools ask for about a project, or about one version. */
import { pipeline } from "node:stream";
import { createInflateRaw } from "node:zlib";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { isKnown } from "../../../http/conditional-request.ts";
import { notFound } from "../../../lib/errors.ts";
import { isPythonPreRelease, parsePythonVersion } from "../../../lib/version-order/python.ts";
import {
  answer,
  answerParts,
  assertMethod,
  filesUrl,
  type LibraryParts,
  type LibraryRequest,
  openForReading,
} from "../../http/library-request.ts";
import { projectJson } from "../project-json.ts";
import { isQuarantined } from "../project-settings.ts";
import { isProjectName, normalizeProject } from "../python-name.ts";
import { type FileRow, findProject, metadataOf, type Project, readFiles } from "../simple-pages.ts";
import { pageTag } from "./page-tag.ts";
import { noSuchProject } from "./simple.ts";

const CACHING = { "cache-control": "private, no-cache", vary: "Authorization" };
/** Bytes of METADATA that are read. Beyond them is only the end of a long description. */
const MAX_METADATA_BYTES = 256 * 1024;
const PAGE_VERSION = 2;

export interface JsonPath {
  readonly name: string;
  readonly version?: string;
}

export async function serveProjectJson(exchange: LibraryRequest, { name, version }: JsonPath, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD");
  const { reader } = parts.store;
  const library = await openForReading(exchange, Ecosystem.PYTHON, parts);
  const project = isProjectName(name) ? await findProject(reader, library, normalizeProject(name)) : undefined;
  if (project === undefined) throw noSuchProject(name);
  const url = filesUrl(exchange, parts);
  const etag = pageTag(project, `json-${PAGE_VERSION}`, url);
  const headers = { ...CACHING, etag: `"${etag}"` };
  if (isKnown(exchange.request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  const all = await readFiles(reader, project);
  const files = version === undefined ? latestOf(all) : filesOf(all, version);
  if (files.length === 0) throw notFound("Version", (version ?? "").slice(0, 200));
  // An attacker may have written the metadata of a quarantined project.
  const metadata = isQuarantined(project) ? "" : await readMetadata(project, files, parts);
  const wholeProject = version === undefined ? all : undefined;
  const page = projectJson({ project, files, all: wholeProject, metadata, filesUrl: url });
  await answerParts(exchange, "application/json", page, headers);
}

function filesOf(files: readonly FileRow[], version: string): readonly FileRow[] {
  const sortKey = parsePythonVersion(version)?.sortKey;
  return files.filter((file) => file.sort_key === sortKey);
}

/** The files of the latest version; a version that is yanked or a pre-release only if there is no other. */
function latestOf(files: readonly FileRow[]): readonly FileRow[] {
  const rankOf = ({ yank_time, version }: FileRow) => (yank_time === null ? 2 : 0) + (isPythonPreRelease(version) ? 0 : 1);
  let best: FileRow | undefined;
  let bestRank = 0;
  // The files of a version have one rank.
  for (const file of files) {
    if (file.sort_key === best?.sort_key) continue;
    const rank = rankOf(file);
    if (best === undefined || rank >= bestRank) [best, bestRank] = [file, rank];
  }
  return files.filter(({ sort_key }) => sort_key === best?.sort_key);
}

/** The metadata of a wheel, or else the stored header fields of a source distribution; empty if there is neither. */
async function readMetadata({ uid }: Project, files: readonly FileRow[], { store, blobs }: LibraryParts): Promise<string> {
  for (const file of files) {
    const place = metadataOf(file).coreMetadata;
    if (place === undefined) continue;
    const bytes = await blobs.read(file.digest, { start: place.start, end: place.end });
    // Ends both streams when one of them ends; the reader gets the errors.
    return readStart(place.isDeflated ? pipeline(bytes, createInflateRaw(), () => {}) : bytes);
  }
  const row = await store.reader
    .selectFrom("library_file")
    .select("core_metadata")
    .where("artifact_uid", "=", uid)
    .where("path", "=", files[0]?.path ?? "")
    .executeTakeFirst();
  return row?.core_metadata ?? "";
}

async function readStart(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= MAX_METADATA_BYTES) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_METADATA_BYTES).toString("utf8");
  // A field that is cut off is left out.
  return size < MAX_METADATA_BYTES ? text : text.slice(0, text.lastIndexOf("\n") + 1);
}
