/** Receives uploads of twine, uv and other tools: a form with one file and fields that describe it. */
import type { Readable } from "node:stream";
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { allowLongBody } from "../../../http/body-time.ts";
import { invalidArgument } from "../../../lib/errors.ts";
import { parsePythonVersion } from "../../../lib/version-order/python.ts";
import {
  answerText,
  assertMethod,
  changeBy,
  type LibraryParts,
  type LibraryRequest,
  openForPublishing,
  readingContext,
} from "../../http/library-request.ts";
import type { Library } from "../../library.ts";
import type { Publication } from "../../publication.ts";
import type { PublishOutcome } from "../../publish.ts";
import { publishStaged, withFileName } from "../../publish-staged.ts";
import { MAX_FILE, type Staged } from "../../stage.ts";
import { parseAttestations } from "../attestation.ts";
import { normalizeProject } from "../python-name.ts";
import { readPythonPackage } from "../python-package.ts";
import { receiveForm, type UploadForm } from "./upload-form.ts";

const ANSWERS: Readonly<Record<PublishOutcome, string>> = {
  created: "Published.\n",
  attested: "The same file is already published. Its new attestations were added.\n",
  unchanged: "The same file is already published.\n",
};

export async function receiveUpload(exchange: LibraryRequest, parts: LibraryParts): Promise<void> {
  assertMethod(exchange, "POST");
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  allowLongBody(exchange.request, parts.transferIdleMs);
  const stage = (bytes: Readable, isComplete: () => boolean) => parts.staging.stage(bytes, MAX_FILE, isComplete);
  const form = await exchange.transfer(() => receiveForm(exchange.request, stage, parts.staging));
  const outcome = await publishStaged(
    form.staged,
    () => readUpload(form, library, exchange, parts),
    () => changeBy(exchange, parts),
    parts,
  );
  answerText(exchange, "text/plain; charset=utf-8", ANSWERS[outcome]);
}

async function readUpload(form: UploadForm, library: Library, exchange: LibraryRequest, parts: LibraryParts): Promise<Publication> {
  const { fields, fileName, attestations, staged } = form;
  const action = fields.get(":action");
  if (action !== "file_upload") throw invalidArgument(":action", "the only supported action is file_upload");
  assertDigests(fields, staged);
  const publication = await withFileName(fileName, readPythonPackage(staged, fileName, readingContext(library, exchange, parts)));
  assertAgrees(fields, publication);
  if (attestations === undefined) return publication;
  const file = { fileName, sha256: staged.digest.slice("sha256:".length) };
  return { ...publication, attestations: parseAttestations(attestations, file) };
}

function assertDigests(fields: ReadonlyMap<string, string>, { digest, md5 }: Staged): void {
  const sha256 = fields.get("sha256_digest");
  const md5Digest = fields.get("md5_digest");
  if (sha256 !== undefined && `sha256:${sha256.toLowerCase()}` !== digest)
    throw invalidArgument("sha256_digest", `the received file has ${digest.slice("sha256:".length)}`);
  if (md5Digest !== undefined && md5Digest.toLowerCase() !== md5) throw invalidArgument("md5_digest", `the received file has ${md5}`);
}

function assertAgrees(fields: ReadonlyMap<string, string>, { name, key, version }: Publication): void {
  const formName = fields.get("name");
  const formVersion = fields.get("version");
  if (formName !== undefined && normalizeProject(formName) !== key)
    throw invalidArgument("name", `the form says "${formName.slice(0, 100)}", but the package says "${name}"`);
  if (formVersion !== undefined && parsePythonVersion(formVersion)?.sortKey !== version.sortKey)
    throw invalidArgument("version", `the form says "${formVersion.slice(0, 100)}", but the package says ${version.text}`);
}
