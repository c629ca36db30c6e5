/** When a run of a queue ends. The clock stands still, so that turns end by the number of their attempts. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import type { Store } from "../../db/store.ts";
import { createLog } from "../../lib/log.ts";
import type { Signed, Webhook } from "../webhook/webhook.ts";
import type { OutcomeLog } from "./outcome-log.ts";
import { publish } from "./publish.ts";
import { runQueue } from "./queue-run.ts";
import { HEALTHY, type Health } from "./retry.ts";

const ORG = "a".repeat(40);
const clock = createManualClock();
const webhook = {
  sign: async () => ({}) as Signed,
  send: async () => ({ status: 204, error: "", retryAfterMs: undefined }),
} as unknown as Webhook;
const outcomes = { record: async () => true } as unknown as OutcomeLog;
const policy = { backoffMs: [1000], giveUpMs: 1000 };

async function appendEvents(store: Store, count: number): Promise<void> {
  const row = { name: "", create_time: "", update_time: "", body: "{}" };
  const event = { type: "t", source: "s", subject: "", group_uid: ORG, time: "", audience: "customer", body_type: "" } as const;
  await store.transaction(async (db) => {
    await db
      .insertInto("group")
      .values({ ...row, uid: ORG, parent: null, verified: 0 })
      .execute();
    await db
      .insertInto("subscription")
      .values({ ...row, uid: "queue", parent: ORG, sink: "https://sink.example.com/" })
      .execute();
    await db.insertInto("subscription_queue").values({ subscription_uid: "queue", failures: 0, pause_reason: "" }).execute();
    for (let i = 0; i < count; i++)
      await db
        .insertInto("outbox")
        .values({ ...event, id: `${i}`, extensions: "{}", data: "{}" })
        .execute();
  });
  while ((await publish(store, clock, "dev.holt")) === "more");
}

interface RunOptions {
  readonly health?: Health;
  readonly isWanted?: boolean;
  readonly sign?: Webhook["sign"];
}

/** The result of one run, and how often it asked whether others wait. */
async function runWith(t: TestContext, events: number, options: RunOptions = {}) {
  const { health = HEALTHY, isWanted = false, sign = webhook.sign } = options;
  const dataDir = await mkdtemp(join(tmpdir(), "holt-queue-run-"));
  t.after(() => rm(dataDir, { recursive: true }));
  await using store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
  await appendEvents(store, events);
  let questions = 0;
  const control = {
    isOver: () => false,
    signal: new AbortController().signal,
    onAttempt() {},
    isWanted: async () => {
      questions++;
      return isWanted;
    },
  };
  const time = t.mock.method(performance, "now", () => 0);
  const parts = { store, clock, webhook: { ...webhook, sign }, outcomes, policy };
  const result = await runQueue({ uid: "queue", health }, parts, control);
  time.mock.restore();
  return { result, questions };
}

async function countsOf(t: TestContext, events: number, options: RunOptions = {}) {
  const { result, questions } = await runWith(t, events, options);
  return { attempts: result.attempts, questions };
}

test("a run goes on after a turn of 200 attempts while nobody waits for its slot or its queue", async (t) => {
  assert.deepEqual(await countsOf(t, 450), { attempts: 450, questions: 2 });
});

test("a run ends after a turn if another queue waits for its slot, or another server for a queue", async (t) => {
  assert.deepEqual(await countsOf(t, 450, { isWanted: true }), { attempts: 200, questions: 1 });
});

test("a run of a queue that had failed ends after a turn, so that its health is stored", async (t) => {
  const health = { ...HEALTHY, failures: 1, failing_time: clock.now().toISOString() };
  assert.deepEqual(await countsOf(t, 450, { health }), { attempts: 200, questions: 0 });
});

test("a run ends after five turns, so that deliveries that became due behind it are sent", async (t) => {
  assert.deepEqual(await countsOf(t, 1100), { attempts: 1000, questions: 4 });
});

test("a fault of the server after the sink has recovered keeps the recovery", async (t) => {
  const failing = clock.now().toISOString();
  const error = new Error("no key");
  let signed = 0;
  const sign = async () => {
    if (++signed === 2) throw error;
    return {} as Signed;
  };
  const { result } = await runWith(t, 3, { health: { ...HEALTHY, failures: 10, failing_time: failing }, sign });
  assert.deepEqual(result, { health: HEALTHY, recoveredSince: failing, attempts: 1, fault: { error } });
});
