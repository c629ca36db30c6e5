/**
 * Records facts about images for many indexes in the background, in chunks. Which manifests wait is in the database, so
 * that any server can go on after a restart.
 */
import { lockState, readState, writeState } from "../../db/server-state.ts";
import type { Store, WriteDb } from "../../db/store.ts";
import { Loop } from "../../jobs/loop.ts";
import { createPace } from "../../jobs/pace.ts";
import type { Log } from "../../lib/log.ts";
import { rootOf } from "../../lib/uid.ts";
import { OciError } from "../oci-error.ts";
import { type FactsToSpread, spreadImageFacts } from "./image-facts.ts";

const NAME = "image_facts";
/** Waiting manifests. Only those that hundreds of indexes contain wait at all. */
const MAX_WAITING = 1000;
const MAX_WAITING_OF_ORGANIZATION = 100;
/** Others have the database for this multiple of a chunk's time. */
const PAUSE_FACTOR = 1;
const SPACING_MS = 10;
/** How often to look for work that another server left behind. */
const POLL_MS = 60_000;

interface State {
  readonly waiting: readonly FactsToSpread[];
  /** The organization whose manifest had the last chunk. */
  readonly last: string;
}

const EMPTY: State = { waiting: [], last: "" };

/** The repo's row must be locked. @throws OciError TOOMANYREQUESTS if too many manifests wait */
export async function appendFactsToSpread(db: WriteDb, left: FactsToSpread): Promise<void> {
  const { waiting, last } = await lockState(db, NAME, EMPTY);
  const others = waiting.filter((each) => !isSame(each, left));
  const ofOrganization = others.filter(({ repoUid }) => rootOf(repoUid) === rootOf(left.repoUid));
  if (others.length >= MAX_WAITING || ofOrganization.length >= MAX_WAITING_OF_ORGANIZATION)
    throw new OciError("TOOMANYREQUESTS", "the registry still records which indexes contain earlier manifests; try again in a minute");
  await writeState<State>(db, NAME, { waiting: [...others, left], last });
}

/** Does one chunk. @returns whether more is left */
export async function spreadNextFacts(store: Store): Promise<boolean> {
  const state = JSON.parse((await readState(store.reader, NAME)) ?? JSON.stringify(EMPTY)) as State;
  const next = state.waiting.find(({ repoUid }) => rootOf(repoUid) !== state.last) ?? state.waiting[0];
  if (next === undefined) return false;
  return store.transaction(async (db) => {
    // A push locks in the same order.
    const repo = await db.dialect.forUpdate(db.selectFrom("repo").select("uid").where("uid", "=", next.repoUid)).executeTakeFirst();
    const { waiting } = await lockState(db, NAME, EMPTY);
    // Another server was faster.
    if (!waiting.some((each) => isSame(each, next) && each.after === next.after)) return waiting.length > 0;
    const left = repo === undefined ? undefined : await spreadImageFacts(db, next);
    const rest = [...waiting.filter((each) => !isSame(each, next)), ...(left === undefined ? [] : [left])];
    await writeState<State>(db, NAME, { waiting: rest, last: rootOf(next.repoUid) });
    return rest.length > 0;
  });
}

function isSame(one: FactsToSpread, other: FactsToSpread): boolean {
  return one.repoUid === other.repoUid && one.digest === other.digest;
}

export function startSpreadingFacts(store: Store, log: Log): Loop {
  const pace = createPace({ pauseFactor: PAUSE_FACTOR });
  return new Loop({
    name: "recording images for many indexes",
    log,
    spacingMs: SPACING_MS,
    async step() {
      return (await pace(() => spreadNextFacts(store))) ? 0 : POLL_MS;
    },
  });
}
