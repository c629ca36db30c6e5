/** Compares sign-ins with pull tokens in a large database with those in a small one. */
import { createHash } from "node:crypto";
import { openDatabase } from "../../packages/server/src/cli/open-installation.ts";
import { createLog } from "../../packages/server/src/lib/log.ts";
import { newUid, rangeAtOrBelow } from "../../packages/server/src/lib/uid.ts";
import { type Contender, compare } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { type Line, short } from "../report.ts";
import { scale } from "../scale.ts";
import { type Served, serve } from "../servers.ts";

const FEW_TOKENS = 1000;
/** A tenth of the identities. */
const MANY_TOKENS = Math.max(FEW_TOKENS, scale.rows / 10);
/** Tokens that sign in; the others only fill the tables. */
const USED_TOKENS = 500;
const ROWS_PER_STATEMENT = 500;
const MAX_RATIO = 1.2;

export async function pullTokens(store: StoreName): Promise<Line[]> {
  const [few, many] = [await serve(store, scale.fewRows), await serve(store)];
  const [fewGroup, manyGroup] = [await makeScratchGroup(few), await makeScratchGroup(many)];
  try {
    const contenders = [await contenderOf(few, fewGroup, FEW_TOKENS), await contenderOf(many, manyGroup, MANY_TOKENS)];
    const [small, large] = await compare("http1", contenders);
    const { p99 = Number.NaN, cpuUs = Number.NaN } = large ?? {};
    const [latency, cpu] = [p99 / (small?.p99 ?? Number.NaN), cpuUs / (small?.cpuUs ?? Number.NaN)];
    const figure = `p99 ${short(p99)} ms, × ${short(latency)} of ${FEW_TOKENS} tokens; CPU × ${short(cpu)}`;
    const measured = `Sign-in with one of ${MANY_TOKENS} pull tokens, ${scale.rows} identities`;
    return [{ measured, store, figure, target: `× ≤ ${MAX_RATIO}`, holds: Math.min(latency, cpu) <= MAX_RATIO }];
  } finally {
    for (const [holt, group] of [
      [few, fewGroup],
      [many, manyGroup],
    ] as const) {
      await deleteTokens(holt, group);
      await removeScratchGroup(holt, group);
    }
  }
}

async function contenderOf(holt: Served, group: string, tokens: number): Promise<Contender> {
  const requests: string[] = [];
  for (let token = 0; token < USED_TOKENS; token++) {
    const body = JSON.stringify({ name: `machine-${token}`, rights: ["RIGHT_IMAGES_PULL"] });
    const created = JSON.parse(await holt.fetch("POST", `/holt/v1/pullTokens/${group}`, body)) as { userName: string; password: string };
    const authorization = `Basic ${Buffer.from(`${created.userName}:${created.password}`).toString("base64")}`;
    requests.push(holt.request("GET", "/v2/", undefined, { authorization }));
  }
  await insertTokens(holt, group, tokens - USED_TOKENS);
  return { pid: holt.server.pid, load: { port: holt.server.port, connections: scale.connections, requests } };
}

/** Copies of a token with other uids and passwords. */
async function insertTokens({ target }: Served, group: string, count: number): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  const model = await store.reader.selectFrom("pull_token").selectAll().where("parent", "=", group).limit(1).executeTakeFirstOrThrow();
  const secret = await store.reader
    .selectFrom("pull_token_secret")
    .selectAll()
    .where("pull_token_uid", "=", model.uid)
    .executeTakeFirstOrThrow();
  for (let start = 0; start < count; start += ROWS_PER_STATEMENT) {
    const tokens = Array.from({ length: Math.min(ROWS_PER_STATEMENT, count - start) }, () => ({ ...model, uid: newUid(group) }));
    const secrets = tokens.map(({ uid }) => ({ ...secret, pull_token_uid: uid, password_hash: hashOf(uid), id: hashOf(uid).slice(0, 16) }));
    await store.transaction(async (db) => {
      await db.insertInto("pull_token").values(tokens).execute();
      await db.insertInto("pull_token_secret").values(secrets).execute();
    });
  }
}

async function deleteTokens({ target }: Served, group: string): Promise<void> {
  await using store = await openDatabase({ ...target, log: createLog("warn") });
  const { lower, upper } = rangeAtOrBelow(group);
  const someTokens = () => store.reader.selectFrom("pull_token").select("uid").where("uid", ">=", lower).where("uid", "<", upper);
  for (let left = true; left; ) {
    const uids = (await someTokens().limit(ROWS_PER_STATEMENT).execute()).map(({ uid }) => uid);
    left = uids.length > 0;
    if (left) await store.transaction(async (db) => void (await db.deleteFrom("pull_token").where("uid", "in", uids).execute()));
  }
  await store.transaction(async (db) => void (await db.deleteFrom("resource_count").where("kind", "=", "pull_token").execute()));
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
