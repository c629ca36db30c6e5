/** A checkpoint that one server signs while another one deletes old entries does not make an intact chain look shortened. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { appendAudit } from "../../src/audit/append.ts";
import { type CheckpointParts, signCheckpoints } from "../../src/auditing/chain/checkpoint.ts";
import { verifyChain } from "../../src/auditing/chain/read-chain.ts";
import { seal } from "../../src/auditing/chain/seal.ts";
import { pruneEntries } from "../../src/auditing/retention.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import type { Store } from "../../src/db/store.ts";
import { createSigningKeys } from "../../src/iam/tokens/signing-keys.ts";
import { createLog } from "../../src/lib/log.ts";
import { storeNames } from "../harness/harness.ts";
import { temporaryFolder } from "../harness/holtd.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { createDatabaseOn } from "../harness/migrated-database.ts";

const RETENTION_MS = 1000;

/** A store that runs something before its first transaction. */
function interrupted(store: Store, interruption: () => Promise<unknown>): Store {
  let isFirst = true;
  const transaction: Store["transaction"] = async (work, options) => {
    if (isFirst) await interruption();
    isFirst = false;
    return store.transaction(work, options);
  };
  return new Proxy(store, { get: (target, name) => (name === "transaction" ? transaction : Reflect.get(target, name, target)) });
}

interface Race {
  readonly parts: CheckpointParts;
  /** Parts of another server, whose clock is a second ahead. */
  readonly later: CheckpointParts;
  assertIntact(): Promise<void>;
}

/** A chain of two blocks that are older than the retention. */
async function onEachStore(race: (race: Race) => Promise<void>): Promise<void> {
  for (const name of storeNames) {
    await using folder = await temporaryFolder();
    const log = createLog("silent");
    await using store = await openDatabase({ url: await createDatabaseOn(name), dataDir: folder.path, log });
    const clock = createManualClock();
    const facts = { action: "platform.iam.v2.GroupsService/CreateGroup", actor: "", organization: "", target: "", outcome: "OK" };
    for (let block = 0; block < 2; block++) {
      await store.transaction((db) => appendAudit(db, { ...facts, now: clock.now() }));
      await seal(store, clock);
    }
    clock.advance(60_000);
    const keys = await createSigningKeys({ store, clock, log });
    await keys.current();
    const parts = { store, keys, clock, log, issuer: "https://holt.example.com", intervalMs: 0 };
    await race({
      parts,
      later: { ...parts, clock: createManualClock(new Date(clock.now().getTime() + 1000)) },
      async assertIntact() {
        const range = { organization: "", after: undefined, maxEntries: 100 };
        const findKey = async (kid: string) => (await keys.byKid(kid))?.publicKey;
        const { problem, checkpoint, isComplete } = await store.snapshot((db) => verifyChain(db, range, findKey));
        assert.equal(problem, undefined, name);
        assert.deepEqual({ isComplete, verdict: checkpoint?.verdict }, { isComplete: true, verdict: "valid" });
      },
    });
  }
}

test("a checkpoint that was signed before entries were deleted is not stored afterwards", () =>
  onEachStore(async ({ parts, later, assertIntact }) => {
    const prune = () => pruneEntries(parts, RETENTION_MS);
    await signCheckpoints({ ...later, store: interrupted(parts.store, prune) });
    await assertIntact();
  }));

test("a checkpoint that is stored while entries are deleted does not stay the newest one", () =>
  onEachStore(async ({ parts, later, assertIntact }) => {
    const sign = () => signCheckpoints(later);
    assert.equal(await pruneEntries({ ...parts, store: interrupted(parts.store, sign) }, RETENTION_MS), true);
    await assertIntact();
  }));
