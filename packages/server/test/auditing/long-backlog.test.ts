/** Sealing, verifying, exporting and deleting many audit entries leaves the event loop free. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { appendAudit } from "../../src/audit/append.ts";
import { readChainEntries } from "../../src/auditing/chain/chain-entries.ts";
import { verifyChain } from "../../src/auditing/chain/read-chain.ts";
import { seal } from "../../src/auditing/chain/seal.ts";
import { indexBlocks, mergeSegments } from "../../src/auditing/chain/segment-index.ts";
import { pruneEntries } from "../../src/auditing/retention.ts";
import { openDatabase } from "../../src/cli/open-installation.ts";
import type { Store } from "../../src/db/store.ts";
import { createSigningKeys } from "../../src/iam/tokens/signing-keys.ts";
import { systemClock as clock } from "../../src/lib/clock.ts";
import { createLog } from "../../src/lib/log.ts";
import { newUid } from "../../src/lib/uid.ts";
import { assertYielding } from "../harness/robustness/cost-checks.ts";

const ENTRIES = 17_000;
/** As many as a run of sealing takes at most. */
const LARGE_ENTRIES = 2000;
const ENTRIES_PER_TRANSACTION = 500;
const log = createLog("silent");

/** Entries whose organizations are unknown, so that all belong to the chain of the server. @param length characters of each request */
async function fill(store: Store, count: number, length: number): Promise<void> {
  const organization = newUid("");
  const facts = { action: "platform.iam.v2.GroupsService/CreateGroup", actor: newUid(organization), organization, outcome: "OK" };
  const request = JSON.stringify({ description: "d".repeat(length) });
  for (let done = 0; done < count; done += ENTRIES_PER_TRANSACTION)
    await store.transaction(async (db) => {
      for (let i = 0; i < ENTRIES_PER_TRANSACTION; i++)
        await appendAudit(db, { ...facts, target: newUid(newUid(organization)), request, now: clock.now() });
    });
}

async function all(step: () => Promise<boolean>): Promise<void> {
  while (await step());
}

async function withStore(work: (store: Store) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "holt-audit-"));
  try {
    await using store = await openDatabase({ url: "", dataDir, log });
    await work(store);
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

test("a long backlog of audit entries is sealed, verified, exported and deleted without blocking the event loop", () =>
  withStore(async (store) => {
    await fill(store, ENTRIES, 300);
    await assertYielding("sealing", () => all(() => seal(store, clock)));
    await assertYielding("indexing", () => all(() => indexBlocks(store)));
    await assertYielding("merging", () => all(() => mergeSegments(store, 1)));
    const range = { organization: "", after: undefined, maxEntries: ENTRIES };
    const verified = await assertYielding("verifying", () => store.snapshot((db) => verifyChain(db, range, async () => undefined)));
    assert.deepEqual([verified.count, verified.problem], [ENTRIES, undefined]);
    const exported = await assertYielding("exporting", () => readChainEntries(store.reader, "", 0, 1000));
    assert.deepEqual([exported.entries.length, exported.hasMore], [1000, true]);
    const keys = await createSigningKeys({ store, clock, log });
    await keys.current();
    await assertYielding("deleting", () => all(() => pruneEntries({ store, keys, clock, log, issuer: "", intervalMs: 0 }, 1)));
    const left = await store.reader.selectFrom("audit_entry").select("seq").limit(1).execute();
    assert.deepEqual(left, []);
    const segments = await store.reader.selectFrom("audit_segment").select("segment").limit(1).execute();
    assert.deepEqual(segments, []);
  }));

test("a backlog of large audit entries is sealed without blocking the event loop", () =>
  withStore(async (store) => {
    await fill(store, LARGE_ENTRIES, 60 * 1024);
    await assertYielding("sealing", () => all(() => seal(store, clock)));
    const chain = await store.reader.selectFrom("audit_chain").select("number").executeTakeFirst();
    assert.equal(chain?.number, LARGE_ENTRIES);
  }));
