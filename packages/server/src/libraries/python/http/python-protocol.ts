/**
 * Routes Python's package protocols below an owner: the Simple Repository API, the JSON API, files, the uploads of twine
 * and uv, yanking and deletion.
 */
import { notFound } from "../../../lib/errors.ts";
import type { LibraryParts, LibraryRequest } from "../../http/library-request.ts";
import { serveFile } from "./files.ts";
import { withFoldersInOwner } from "./owner-path.ts";
import { serveProjectJson } from "./project-json.ts";
import { serveProject, serveProjects } from "./simple.ts";
import { receiveUpload } from "./upload.ts";
import { changeYank, deleteVersion } from "./versions.ts";

export async function servePython(request: LibraryRequest, parts: LibraryParts): Promise<void> {
  const exchange = withFoldersInOwner(request);
  const { path, method } = exchange;
  const [first = "", second = "", third = "", fourth = ""] = path;
  if (first === "" && path.length <= 1) return receiveUpload(exchange, parts);
  if (first === "files" && path.length === 3) return serveFile(exchange, second, third, parts);
  if (first === "simple" && path.length === 1) return serveProjects(exchange, undefined, parts);
  if (first === "simple" && path.length === 2 && second === "") return serveProjects(exchange, "", parts);
  if (first === "simple" && (path.length === 2 || (path.length === 3 && third === ""))) return serveProject(exchange, second, parts);
  if (first === "simple" && path.length === 4 && (fourth === "yank" || fourth === "unyank"))
    return changeYank(exchange, { project: second, version: third }, fourth, parts);
  if (first === "simple" && (path.length === 3 || (path.length === 4 && fourth === "")) && method === "DELETE")
    return deleteVersion(exchange, second, third, parts);
  if (first === "pypi" && path.length === 3 && third === "json") return serveProjectJson(exchange, { name: second }, parts);
  if (first === "pypi" && path.length === 4 && fourth === "json")
    return serveProjectJson(exchange, { name: second, version: third }, parts);
  throw notFound("Path", path.join("/").slice(0, 200));
}
