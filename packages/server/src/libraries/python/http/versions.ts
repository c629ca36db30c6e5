/** `simple/<project>/<version>`: taken back by its publisher, for good or from who does not name it. */
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
  project: string,
  version: string,
  change: "yank" | "unyank",
  parts: LibraryParts,
): Promise<void> {
  assertMethod(exchange, "POST");
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  const reason = change === "yank" ? await reasonOf(exchange, parts) : undefined;
  await setYanked(library, normalizeProject(project), sortKeyOf(version), reason, changeBy(exchange, parts), parts.store);
  answer(exchange, 204);
}

export async function deleteVersion(exchange: LibraryRequest, project: string, version: string, parts: LibraryParts): Promise<void> {
  const library = await openForPublishing(exchange, Ecosystem.PYTHON, parts);
  const options = { store: parts.store, isPreRelease: isPythonPreRelease };
  await removeFiles(library, normalizeProject(project), { sortKey: sortKeyOf(version) }, changeBy(exchange, parts), options);
  answer(exchange, 204);
}

/** One that cannot be is not there either. */
function sortKeyOf(version: string): string {
  const parsed = parsePythonVersion(version);
  if (parsed === undefined) throw notFound("Version", version.slice(0, 200));
  return parsed.sortKey;
}

/** Of a form, which may be empty. */
async function reasonOf({ request }: LibraryRequest, { memory }: LibraryParts): Promise<string> {
  const allowance = memory.allowKnown();
  try {
    const reason = new URLSearchParams((await readBody(request, allowance)).toString("utf8")).get("reason") ?? "";
    if (reason.length > MAX_REASON || /\p{Cc}/u.test(reason))
      throw invalidArgument("reason", `it must be one line of at most ${MAX_REASON} characters`);
    return reason;
  } finally {
    allowance.release();
  }
}
