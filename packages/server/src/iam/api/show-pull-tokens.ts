/** Completes pull tokens with their last use, which is stored beside the body. */
import { PullTokenSchema } from "@holt/api/gen/holt/v1/pull_tokens_pb.ts";
import type { ReadDb } from "../../db/store.ts";
import { timestampFromText } from "../../lib/clock.ts";
import { messageFromJson } from "../../lib/proto-json.ts";
import { pullTokens } from "../pull-tokens/pull-token-resource.ts";

/** @returns one text for each body, in the same order */
export async function showPullTokens(bodies: readonly string[], db: ReadDb): Promise<string[]> {
  const tokens = bodies.map((body) => messageFromJson(PullTokenSchema, body));
  const rows = await db
    .selectFrom("pull_token")
    .innerJoin(db.dialect.valuesOf(tokens.map(({ uid }) => uid)).as("wanted"), "wanted.value", "pull_token.uid")
    .select(["uid", "last_use_time", "last_use_address"])
    .where("last_use_time", "is not", null)
    .execute();
  const uses = new Map(rows.map((row) => [row.uid, row]));
  return tokens.map((token, index) => {
    const use = uses.get(token.uid);
    if (use?.last_use_time == null) return bodies[index] ?? "";
    token.lastUseTime = timestampFromText(use.last_use_time);
    token.lastUseAddress = use.last_use_address ?? "";
    return pullTokens.encode(token);
  });
}
