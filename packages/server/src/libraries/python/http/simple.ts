/** Serves `simple/` and `simple/<project>/`, the index for pip, uv and other installers. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { isKnown } from "../../../http/conditional-request.ts";
import { notFound } from "../../../lib/errors.ts";
import { LibraryRefusal } from "../../http/error.ts";
import {
  answer,
  answerParts,
  assertMethod,
  filesUrl,
  type LibraryParts,
  type LibraryRequest,
  openForReading,
} from "../../http/library-request.ts";
import { isProjectName, normalizeProject } from "../python-name.ts";
import { findProject, projectPage, projectsPage, readFiles } from "../simple-pages.ts";
import { type PageType, pageTypeFrom } from "./accept.ts";
import { pageTag } from "./page-tag.ts";

/** Clients may cache a page and revalidate it on each use. */
const CACHING = { "cache-control": "private, no-cache", vary: "Accept, Authorization" };
const FILES = "../../files/";
const PAGE_VERSION = 2;

/** @param rest empty for the path `simple/`, undefined for `simple` without the slash */
export async function serveProjects(exchange: LibraryRequest, rest: "" | undefined, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD");
  const library = await openForReading(exchange, Ecosystem.PYTHON, parts);
  if (rest === undefined) return redirect(exchange, "simple/");
  const { format, contentType } = typeOf(exchange);
  await answerParts(exchange, contentType, projectsPage(parts.store.reader, library, format), CACHING);
}

export async function serveProject(exchange: LibraryRequest, name: string, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "GET", "HEAD");
  const { reader } = parts.store;
  const library = await openForReading(exchange, Ecosystem.PYTHON, parts);
  if (!isProjectName(name)) throw noSuchProject(name);
  const key = normalizeProject(name);
  const hasSlash = exchange.path.length === 3;
  if (name !== key || !hasSlash) return redirect(exchange, `${hasSlash ? "../" : ""}${key}/`);
  const { format, contentType } = typeOf(exchange);
  const project = await findProject(reader, library, key);
  if (project === undefined) throw noSuchProject(name);
  // PAGE_VERSION changes the tags of all pages when their format changes.
  const url = filesUrl(exchange, parts);
  const etag = pageTag(project, `${format}-${PAGE_VERSION}`, url);
  const headers = { ...CACHING, etag: `"${etag}"` };
  if (isKnown(exchange.request, { etags: [headers.etag] })) return answer(exchange, 304, headers);
  const files = await readFiles(reader, project);
  const page = projectPage(project, files, { format, location: { path: FILES, url } });
  await answerParts(exchange, contentType, page, headers);
}

function typeOf({ request }: LibraryRequest): PageType {
  const type = pageTypeFrom(request.headers.accept);
  if (type === undefined)
    throw new LibraryRefusal(
      406,
      "this page is available as application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html and text/html",
      CACHING,
    );
  return type;
}

/** The location is relative, because a proxy may have added a prefix to the path. */
function redirect(exchange: LibraryRequest, location: string): void {
  answer(exchange, 301, { location, "cache-control": "private" });
}

export function noSuchProject(name: string): Error {
  return notFound("Project", name.slice(0, 200));
}
