/** holt images history: the digests that a tag has pointed to. */
import type { Invocation } from "../command/invocation.ts";
import type { Verb } from "../command/verb.ts";
import { usageFailure } from "../failure.ts";
import { findImage, IMAGE_HELP } from "../images/image-reference.ts";
import { isMissing, type Platform, readScans } from "../images/platforms.ts";
import type { Row } from "../output/output.ts";

interface Move {
  readonly updateTimestamp: string;
  readonly digest: string;
}

const DEFAULT_LIMIT = 20;
/** Digests that are read at the same time. */
const BATCH = 8;

export const verb: Verb = {
  path: "images history",
  summary: "Show when a tag moved, and to which digests, newest first.",
  description:
    "A move to an index has a row for each of its platforms. A digest that the repository no longer has is shown without platforms.",
  examples: ["holt images history my-org/team-a/app:1.0"],
  arguments: [{ name: "tag", kind: "repo", help: "REPO:TAG; the tag is latest by default" }],
  options: [{ name: "limit", value: "NUMBER", help: `at most as many moves; ${DEFAULT_LIMIT} by default` }],
  async run(invocation) {
    const { argument, output } = invocation;
    const limit = Number(invocation.option("limit") ?? DEFAULT_LIMIT);
    if (!Number.isSafeInteger(limit) || limit < 1) throw usageFailure("--limit must be a positive number");
    const { tag, repo } = await findImage(argument("tag"), invocation);
    if (tag === undefined) throw usageFailure("a digest has no history", `give a tag: ${IMAGE_HELP}`);
    const moves = (await readMoves(tag.uid, invocation)).slice(-limit).reverse();
    const platforms = await platformsByDigest(repo, new Set(moves.map(({ digest }) => digest)), invocation);
    const rows = moves.flatMap((move) => rowsOf(move, platforms.get(move.digest) ?? []));
    await output.rows(rows, { columns: ["updateTime", "digest", "platform", "imageDigest"], name: ({ digest }) => String(digest) });
  },
};

/**
 * The whole history of a tag, oldest first. An answer has the first thousand moves from a time on, with those at that time.
 * An answer without a later move is the last one.
 */
async function readMoves(tag: string, { session, signal }: Invocation): Promise<Move[]> {
  const path = `/registry/v1/tags/${tag}/history`;
  let moves: Move[] = [];
  for (;;) {
    const start = moves.at(-1)?.updateTimestamp;
    const { items = [] } = (await session().rest.call({ method: "GET", path, query: { start }, signal })) as { items?: Move[] };
    if (items.length === 0 || items.at(-1)?.updateTimestamp === start) return moves;
    moves = [...moves.filter(({ updateTimestamp }) => updateTimestamp !== start), ...items];
  }
}

function rowsOf({ updateTimestamp: updateTime, digest }: Move, platforms: readonly Platform[]): Row[] {
  if (platforms.length === 0) return [{ updateTime, digest, platform: "", imageDigest: "" }];
  return platforms.map((image) => ({ updateTime, digest, platform: image.platform, imageDigest: image.digest }));
}

async function platformsByDigest(repo: string, digests: ReadonlySet<string>, invocation: Invocation) {
  const found = new Map<string, readonly Platform[]>();
  const wanted = [...digests];
  for (let start = 0; start < wanted.length; start += BATCH)
    await Promise.all(
      wanted.slice(start, start + BATCH).map(async (digest) => {
        const { platforms } = await readScans({ repo, digest }, invocation).catch((error) => {
          if (isMissing(error)) return { platforms: [] };
          throw error;
        });
        found.set(digest, platforms);
      }),
    );
  return found;
}
