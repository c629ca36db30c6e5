/** Yanks and deletes `simple/<project>/<version>`. */
import { Ecosystem } from "@holt/api/gen/platform/libraries/v2/artifacts_pb.ts";
import { readBody } from "../../../http/read-body.ts";
import { invalidArgument, notFound } from "../../../lib/errors.ts";
import { isPythonPreRelease, parsePythonVersion } from "../../../lib/version-order/python.ts";
import { answer, assertMethod, changeBy, type LibraryParts, type LibraryRequest, openForPublishing } from "../../http/library-request.ts";
import { removeFiles } from "../../remove.ts";
import { normalizeProject } from "../python-name.ts";
import { setYanked } from "../yank.ts";

const MAX_REASON = 500;

export async function changeYank(
  exchange: LibraryRequest,
  { project, version }: { readonly project: string; readonly version: string },
  change: "yank" | "unyank",
  parts: LibraryParts,
): Promise<void> {
  assertMethod(exchange, "POST");
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  const reason = change === "yank" ? await readReason(exchange, parts) : undefined;
  const target = { library, key: normalizeProject(project), sortKey: sortKeyOf(version) };
  await setYanked(target, reason, changeBy(exchange, parts), parts.store);
  answer(exchange, 204);
}

export async function deleteVersion(exchange: LibraryRequest, project: string, version: string, parts: LibraryParts): Promise<void> {
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  const options = { store: parts.store, isPreRelease: isPythonPreRelease };
  await removeFiles({ library, key: normalizeProject(project) }, { sortKey: sortKeyOf(version) }, changeBy(exchange, parts), options);
  answer(exchange, 204);
}

/** @throws NOT_FOUND for a string that is not a version */
function sortKeyOf(version: string): string {
  const parsed = parsePythonVersion(version);
  if (parsed === undefined) throw notFound("Version", version.slice(0, 200));
  return parsed.sortKey;
}

/** The field `reason` of a form. The form may be empty. */
async function readReason({ request, response, transfer }: LibraryRequest, { memory }: LibraryParts): Promise<string> {
  const allowance = memory.allowKnown(response.answer);
  try {
    const body = await transfer(async () => readBody(request, allowance));
    const reason = new URLSearchParams(body.toString("utf8")).get("reason") ?? "";
    if (reason.length > MAX_REASON || /\p{Cc}/u.test(reason))
      throw invalidArgument("reason", `the reason must be one line of at most ${MAX_REASON} characters`);
    return reason;
  } finally {
    allowance.release();
  }
}
