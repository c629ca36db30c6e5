/** Renders the JSON API of a project or a version, in the shape that the public index gives it. */
import { HoltError } from "../../lib/errors.ts";
import { parseFields } from "./core-metadata.ts";
import { isQuarantined } from "./project-settings.ts";
import { type FileRow, hexOf, listed, metadataOf, offeredFiles, type Project, renderFiles, urlOf } from "./simple-pages.ts";

export interface ProjectJsonInput {
  readonly project: Project;
  /** The files of the version that the page describes; at least one. */
  readonly files: readonly FileRow[];
  /** All files of the project; undefined on the page of a version. */
  readonly all: readonly FileRow[] | undefined;
  /** METADATA or PKG-INFO of the version; empty for a quarantined project. May be empty or end early. */
  readonly metadata: string;
  /** The absolute URL of the folder of files. */
  readonly filesUrl: string;
}

/** The text of the page, in parts. Other requests run between them. */
export async function* projectJson({ project, files, all, metadata, filesUrl }: ProjectJsonInput): AsyncGenerator<string> {
  const [first] = files;
  const info = infoOf(project, first as FileRow, metadata);
  // Holt's advisories are about packages of images, and have feeds of their own.
  const rest = JSON.stringify({ info, last_serial: project.serial, vulnerabilities: [] });
  yield `${rest.slice(0, -1)},"urls":[`;
  yield* renderFiles(
    offeredFiles(project, files),
    listed((file) => fileJson(file, filesUrl)),
  );
  yield "]";
  if (all !== undefined) yield* releases(project, all, filesUrl);
  yield "}";
}

/** A member with the files by version. Those of a version follow each other. */
async function* releases(project: Project, files: readonly FileRow[], filesUrl: string): AsyncGenerator<string> {
  const isHidden = isQuarantined(project);
  yield ',"releases":{';
  yield* renderFiles(files, (file, before) => {
    const isFirst = before?.version !== file.version;
    const begin = isFirst ? `${before === undefined ? "" : "],"}${JSON.stringify(file.version)}:[` : "";
    if (isHidden) return begin;
    return `${begin}${isFirst ? "" : ","}${JSON.stringify(fileJson(file, filesUrl))}`;
  });
  yield files.length === 0 ? "}" : "]}";
}

function fileJson(file: FileRow, filesUrl: string): Record<string, unknown> {
  const { path, size, md5, create_time, yank_time, yank_reason } = file;
  const isWheel = path.endsWith(".whl");
  return {
    comment_text: "",
    digests: { md5, sha256: hexOf(file) },
    downloads: -1,
    filename: path,
    has_sig: false,
    md5_digest: md5,
    packagetype: isWheel ? "bdist_wheel" : "sdist",
    python_version: isWheel ? (path.split("-").at(-3) ?? "") : "source",
    requires_python: metadataOf(file).requiresPython || null,
    size,
    upload_time: create_time.replace(/\.\d+Z$/, ""),
    upload_time_iso_8601: create_time,
    url: urlOf(file, filesUrl),
    yanked: yank_time !== null,
    yanked_reason: yank_time === null ? null : yank_reason || null,
  };
}

function infoOf(project: Project, file: FileRow, metadata: string): Record<string, unknown> {
  const fields = fieldsOf(metadata);
  const one = (field: string) => fields.get(field)?.[0] || null;
  const list = (field: string) => fields.get(field) ?? [];
  const listOrNull = (field: string) => fields.get(field) ?? null;
  const urls = projectUrls(list("project-url"));
  const isYanked = file.yank_time !== null;
  return {
    author: one("author"),
    author_email: one("author-email"),
    bugtrack_url: null,
    classifiers: list("classifier"),
    description: descriptionOf(metadata) || one("description") || "",
    description_content_type: one("description-content-type"),
    docs_url: null,
    download_url: one("download-url"),
    downloads: { last_day: -1, last_month: -1, last_week: -1 },
    dynamic: listOrNull("dynamic"),
    home_page: one("home-page"),
    keywords: one("keywords"),
    license: one("license"),
    license_expression: one("license-expression"),
    license_files: listOrNull("license-file"),
    maintainer: one("maintainer"),
    maintainer_email: one("maintainer-email"),
    name: project.name,
    package_url: null,
    platform: one("platform"),
    project_url: null,
    project_urls: urls,
    provides_extra: listOrNull("provides-extra"),
    release_url: null,
    requires_dist: listOrNull("requires-dist"),
    requires_python: (!isQuarantined(project) && metadataOf(file).requiresPython) || null,
    summary: one("summary"),
    version: file.version,
    yanked: isYanked,
    yanked_reason: isYanked ? file.yank_reason || null : null,
  };
}

/** The file was checked when it was published; the rules may have become stricter since. */
function fieldsOf(metadata: string): ReadonlyMap<string, readonly string[]> {
  try {
    return parseFields(metadata);
  } catch (error) {
    if (error instanceof HoltError) return new Map();
    throw error;
  }
}

/** The text after the first empty line. */
function descriptionOf(metadata: string): string {
  const end = /\r?\n\r?\n|\r\r/.exec(metadata);
  return end === null ? "" : metadata.slice(end.index + end[0].length);
}

/** `Label, URL` of each. */
function projectUrls(values: readonly string[]): Record<string, string> | null {
  const pairs = values.flatMap((value) => {
    const comma = value.indexOf(",");
    return comma < 0 ? [] : [[value.slice(0, comma).trim(), value.slice(comma + 1).trim()] as const];
  });
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}
