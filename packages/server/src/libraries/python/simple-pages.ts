/** Renders the pages of Python's Simple Repository API (PEP 503, 592, 691, 700, 708, 714, 740, 792) from the database. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { escapeMarkup } from "../../lib/markup.ts";
import { compareTexts } from "../../lib/version-order/numeral.ts";
import type { Library } from "../library.ts";
import { isQuarantined, SETTINGS_COLUMNS, type StoredSettings, statusName } from "./project-settings.ts";
import type { PythonFileMetadata } from "./python-package.ts";

export type PageFormat = "html" | "json";

export interface Project extends StoredSettings {
  readonly uid: string;
  /** As its author writes it. */
  readonly name: string;
  readonly key: string;
  /** Changes with everything that the page shows. */
  readonly serial: number;
}

const API_VERSION = "1.4";
/** Projects per query. */
const PROJECTS_PER_QUERY = 1000;
/** Files that are read or rendered without yielding to other requests. A project may have tens of thousands. */
const FILES_PER_TURN = 1000;

export async function findProject(db: ReadDb, { groupUid }: Library, key: string): Promise<Project | undefined> {
  return db
    .selectFrom("library_artifact")
    .select(["uid", "name", "key", "serial", ...SETTINGS_COLUMNS])
    .where("parent", "=", groupUid)
    .where("ecosystem", "=", Ecosystem.PYTHON)
    .where("key", "=", key)
    .executeTakeFirst();
}

/** Where the files of a page are. */
export interface FilesLocation {
  /** The folder of the files, relative to the page. */
  readonly path: string;
  /** The same folder as an absolute URL. */
  readonly url: string;
}

export interface FileRow {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
  readonly md5: string;
  readonly metadata: string;
  readonly create_time: string;
  readonly version: string;
  readonly sort_key: string;
  readonly yank_time: string | null;
  readonly yank_reason: string;
  /** The digest of the provenance object, for a file with attestations. */
  readonly provenance: string | null;
}

/** In the order of versions. */
export async function readFiles(db: ReadDb, project: Project): Promise<FileRow[]> {
  const files: FileRow[] = [];
  for (let after = ""; ; ) {
    const rows = await readFilesAfter(db, project, after);
    files.push(...rows);
    if (rows.length < FILES_PER_TURN) break;
    after = rows.at(-1)?.path ?? "";
    await nextTurn();
  }
  // Sorting only here, because a query that sorts reads all files.
  return files.sort((a, b) => compareTexts(a.sort_key, b.sort_key) || compareTexts(a.version, b.version) || compareTexts(a.path, b.path));
}

function readFilesAfter(db: ReadDb, { uid }: Project, after: string): Promise<FileRow[]> {
  return db
    .selectFrom("library_file as f")
    .innerJoin("library_version as v", "v.uid", "f.version_uid")
    .leftJoin("library_provenance as p", (join) => join.onRef("p.artifact_uid", "=", "f.artifact_uid").onRef("p.path", "=", "f.path"))
    .select(["f.path", "f.digest", "f.size", "f.md5", "f.metadata", "f.create_time"])
    .select(["v.version", "v.sort_key", "v.yank_time", "v.yank_reason", "p.digest as provenance"])
    .where("f.artifact_uid", "=", uid)
    .where("f.path", ">", after)
    .orderBy("f.path")
    .limit(FILES_PER_TURN)
    .execute();
}

/**
 * The texts of the files, in parts. Other requests run between them.
 * @param render gets the file before, too, to separate them
 */
export async function* renderFiles(
  files: readonly FileRow[],
  render: (file: FileRow, before: FileRow | undefined) => string,
): AsyncGenerator<string> {
  for (let start = 0; start < files.length; start += FILES_PER_TURN) {
    if (start > 0) await nextTurn();
    const some = files.slice(start, start + FILES_PER_TURN);
    yield some.map((file, i) => render(file, files[start + i - 1])).join("");
  }
}

/** The text of the page, in parts. @param files of the project */
export function projectPage(
  project: Project,
  files: readonly FileRow[],
  { format, location }: { readonly format: PageFormat; readonly location: FilesLocation },
): AsyncGenerator<string> {
  return format === "json" ? projectJson(project, files, location) : projectHtml(project, files, location);
}

async function* projectJson(project: Project, files: readonly FileRow[], location: FilesLocation): AsyncGenerator<string> {
  const { tracks, locations } = locationsOf(project);
  const rest = JSON.stringify({
    meta: { "api-version": API_VERSION, ...(tracks.length > 0 && { tracks }) },
    name: project.key,
    "project-status": statusJson(project),
    ...(locations.length > 0 && { "alternate-locations": locations }),
    versions: [...new Set(files.map(({ version }) => version))],
  });
  yield `${rest.slice(0, -1)},"files":[`;
  yield* renderFiles(
    offeredFiles(project, files),
    listed((file) => fileJson(file, location)),
  );
  yield "]}";
}

/** Renders files as elements of a JSON array. */
export function listed(json: (file: FileRow) => object): (file: FileRow, before: FileRow | undefined) => string {
  return (file, before) => (before === undefined ? "" : ",") + JSON.stringify(json(file));
}

/** PEP 792: a quarantined project keeps its versions and offers no files. */
export function offeredFiles(project: Project, files: readonly FileRow[]): readonly FileRow[] {
  return isQuarantined(project) ? [] : files;
}

function statusJson(project: Project): Record<string, string> {
  return { status: statusName(project), ...(project.status_reason !== "" && { reason: project.status_reason }) };
}

function locationsOf({ tracks, alternate_locations }: Project): { readonly tracks: string[]; readonly locations: string[] } {
  return { tracks: JSON.parse(tracks) as string[], locations: JSON.parse(alternate_locations) as string[] };
}

function fileJson(file: FileRow, location: FilesLocation): Record<string, unknown> {
  const { path, size, create_time, yank_time, yank_reason } = file;
  const { requiresPython, coreMetadata } = metadataOf(file);
  const metadata = coreMetadata === undefined ? false : { sha256: coreMetadata.sha256 };
  return {
    filename: path,
    url: urlOf(file, location.path),
    hashes: { sha256: hexOf(file) },
    ...(requiresPython !== "" && { "requires-python": requiresPython }),
    size,
    "upload-time": create_time,
    yanked: yank_time === null ? false : yank_reason || true,
    "core-metadata": metadata,
    "dist-info-metadata": metadata,
    ...(file.provenance !== null && { provenance: provenanceUrl(file, location) }),
  };
}

async function* projectHtml(project: Project, files: readonly FileRow[], location: FilesLocation): AsyncGenerator<string> {
  yield head(`Links for ${project.key}`, projectMeta(project));
  yield* renderFiles(offeredFiles(project, files), (file) => fileHtml(file, location));
  yield FOOT;
}

function projectMeta(project: Project): readonly (readonly [name: string, content: string])[] {
  const { tracks, locations } = locationsOf(project);
  const reason = project.status_reason;
  return [
    ["pypi:project-status", statusName(project)],
    ...(reason === "" ? [] : [["pypi:project-status-reason", reason] as const]),
    ...tracks.map((url) => ["pypi:tracks", url] as const),
    ...locations.map((url) => ["pypi:alternate-locations", url] as const),
  ];
}

function fileHtml(file: FileRow, location: FilesLocation): string {
  const { requiresPython, coreMetadata } = metadataOf(file);
  const attributes: [string, string][] = [["href", `${urlOf(file, location.path)}#sha256=${hexOf(file)}`]];
  if (requiresPython !== "") attributes.push(["data-requires-python", requiresPython]);
  if (coreMetadata !== undefined) {
    const hash = `sha256=${coreMetadata.sha256}`;
    attributes.push(["data-core-metadata", hash], ["data-dist-info-metadata", hash]);
  }
  if (file.yank_time !== null) attributes.push(["data-yanked", file.yank_reason]);
  if (file.provenance !== null) attributes.push(["data-provenance", provenanceUrl(file, location)]);
  const attributeText = attributes.map(([attribute, value]) => `${attribute}="${escapeMarkup(value)}"`).join(" ");
  return `<a ${attributeText}>${escapeMarkup(file.path)}</a><br>\n`;
}

/** All projects, sorted by name, in chunks. */
export async function* projectsPage(db: ReadDb, library: Library, format: PageFormat): AsyncGenerator<string> {
  yield format === "json" ? `{"meta":{"api-version":"${API_VERSION}"},"projects":[` : head("Simple index");
  let separator = "";
  for await (const keys of projectKeys(db, library)) {
    if (format === "html") {
      yield keys.map((key) => `<a href="${key}/">${key}</a><br>\n`).join("");
    } else {
      yield separator + keys.map((key) => `{"name":"${key}"}`).join(",");
      separator = ",";
    }
  }
  yield format === "json" ? "]}" : FOOT;
}

async function* projectKeys(db: ReadDb, { groupUid }: Library): AsyncGenerator<readonly string[]> {
  for (let after = ""; ; ) {
    const rows = await db
      .selectFrom("library_artifact")
      .select("key")
      .where("parent", "=", groupUid)
      .where("ecosystem", "=", Ecosystem.PYTHON)
      .where("key", ">", after)
      .orderBy("key")
      .limit(PROJECTS_PER_QUERY)
      .execute();
    if (rows.length > 0) yield rows.map(({ key }) => key);
    if (rows.length < PROJECTS_PER_QUERY) return;
    after = rows.at(-1)?.key ?? "";
  }
}

export function metadataOf({ metadata }: { readonly metadata: string }): PythonFileMetadata {
  return JSON.parse(metadata) as PythonFileMetadata;
}

export function hexOf({ digest }: { readonly digest: string }): string {
  return digest.slice("sha256:".length);
}

/** PEP 740: an absolute URL. */
function provenanceUrl(file: FileRow, { url }: FilesLocation): string {
  return `${urlOf(file, url)}.provenance`;
}

export function urlOf(file: FileRow, folder: string): string {
  return `${folder}${hexOf(file)}/${encodeURIComponent(file.path)}`;
}

function head(title: string, meta: readonly (readonly [name: string, content: string])[] = []): string {
  const all = [["pypi:repository-version", API_VERSION] as const, ...meta];
  const elements = all.map(([name, content]) => `<meta name="${name}" content="${escapeMarkup(content)}">\n`).join("");
  return `<!DOCTYPE html>\n<html>\n<head>\n${elements}<title>${title}</title>\n</head>\n<body>\n`;
}

const FOOT = "</body>\n</html>\n";
