/** Reads due deliveries on both stores. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeOnStores } from "../../../test/harness/describe-stores.ts";
import { append, ORG, subscribe } from "../../../test/harness/events/queue-store.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { readDue, readEvent } from "./due-deliveries.ts";
import { publish } from "./publish.ts";

describeOnStores("reading of due deliveries", (open) => {
  test("long bodies are read one by one, short ones in a batch", async () => {
    await using store = await open();
    const clock = createManualClock();
    await subscribe(store, ORG, "org");
    const long = JSON.stringify({ body: "ü".repeat(9000) });
    const ids = [await append(store), await append(store, { data: long })];
    await publish(store, clock, "dev.holt");
    const due = await readDue(store.reader, "org", undefined, clock.now().toISOString());
    assert.deepEqual(
      due.map(({ id, data }) => ({ id, data })),
      [
        { id: ids[0], data: "{}" },
        { id: ids[1], data: null },
      ],
    );
    assert.deepEqual(await Promise.all(due.map(async (each) => (await readEvent(store.reader, each)).data)), ["{}", long]);
  });
});
