/** Renders the pages of Python's Simple Repository API (PEP 503, 592, 691, 700, 714) from the database. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { escapeMarkup } from "../../lib/markup.ts";
import type { Library } from "../library.ts";
import type { PythonFileMetadata } from "./python-package.ts";

export type PageFormat = "html" | "json";

export interface Project {
  readonly uid: string;
  readonly key: string;
  /** Changes with everything that the page shows. */
  readonly serial: number;
}

const API_VERSION = "1.1";
/** Projects per query. */
const PROJECTS_PER_QUERY = 1000;

export async function findProject(db: ReadDb, { groupUid }: Library, key: string): Promise<Project | undefined> {
  return db
    .selectFrom("library_artifact")
    .select(["uid", "key", "serial"])
    .where("parent", "=", groupUid)
    .where("ecosystem", "=", Ecosystem.PYTHON)
    .where("key", "=", key)
    .executeTakeFirst();
}

interface FileRow {
  readonly path: string;
  readonly digest: string;
  readonly size: number;
  readonly metadata: string;
  readonly create_time: string;
  readonly version: string;
  readonly yank_time: string | null;
  readonly yank_reason: string;
}

/** @param filesPath the folder of the files, relative to the page */
export async function projectPage(db: ReadDb, { uid, key }: Project, format: PageFormat, filesPath: string): Promise<string> {
  const files = await db
    .selectFrom("library_file as f")
    .innerJoin("library_version as v", "v.uid", "f.version_uid")
    .select(["f.path", "f.digest", "f.size", "f.metadata", "f.create_time", "v.version", "v.yank_time", "v.yank_reason"])
    .where("f.artifact_uid", "=", uid)
    .orderBy("v.sort_key")
    .orderBy("f.path")
    .execute();
  return format === "json" ? projectJson(key, files, filesPath) : projectHtml(key, files, filesPath);
}

function projectJson(name: string, files: readonly FileRow[], filesPath: string): string {
  return JSON.stringify({
    meta: { "api-version": API_VERSION },
    name,
    versions: [...new Set(files.map(({ version }) => version))],
    files: files.map((file) => fileJson(file, filesPath)),
  });
}

function fileJson(file: FileRow, filesPath: string): Record<string, unknown> {
  const { path, size, create_time, yank_time, yank_reason } = file;
  const { requiresPython, coreMetadata } = metadataOf(file);
  const metadata = coreMetadata === undefined ? false : { sha256: coreMetadata.sha256 };
  return {
    filename: path,
    url: urlOf(file, filesPath),
    hashes: { sha256: hexOf(file) },
    ...(requiresPython !== "" && { "requires-python": requiresPython }),
    size,
    "upload-time": create_time,
    yanked: yank_time === null ? false : yank_reason || true,
    "core-metadata": metadata,
    "dist-info-metadata": metadata,
  };
}

function projectHtml(name: string, files: readonly FileRow[], filesPath: string): string {
  return `${head(`Links for ${name}`)}${files.map((file) => fileHtml(file, filesPath)).join("")}${FOOT}`;
}

function fileHtml(file: FileRow, filesPath: string): string {
  const { requiresPython, coreMetadata } = metadataOf(file);
  const attributes: [string, string][] = [["href", `${urlOf(file, filesPath)}#sha256=${hexOf(file)}`]];
  if (requiresPython !== "") attributes.push(["data-requires-python", requiresPython]);
  if (coreMetadata !== undefined) {
    const hash = `sha256=${coreMetadata.sha256}`;
    attributes.push(["data-core-metadata", hash], ["data-dist-info-metadata", hash]);
  }
  if (file.yank_time !== null) attributes.push(["data-yanked", file.yank_reason]);
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

function hexOf({ digest }: { readonly digest: string }): string {
  return digest.slice("sha256:".length);
}

function urlOf(file: FileRow, filesPath: string): string {
  return `${filesPath}${hexOf(file)}/${encodeURIComponent(file.path)}`;
}

function head(title: string): string {
  return `<!DOCTYPE html>\n<html>\n<head>\n<meta name="pypi:repository-version" content="${API_VERSION}">\n<title>${title}</title>\n</head>\n<body>\n`;
}

const FOOT = "</body>\n</html>\n";
