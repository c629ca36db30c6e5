/** Reading the feed while events are removed, on both stores. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { EventsService, ListEventsRequestSchema, type ListEventsResponse } from "@holt/api/gen/holt/v1/events_pb.ts";
import { QueryCreator, type QueryExecutor } from "kysely";
import { createMigratedDatabase } from "../../../test/harness/migrated-database.ts";
import type { Call } from "../../api/call/call.ts";
import { createPageTokens } from "../../api/resource/page-token.ts";
import { openDatabase } from "../../cli/open-installation.ts";
import type { Schema } from "../../db/schema.ts";
import type { ReadDb, Store } from "../../db/store.ts";
import { systemClock } from "../../lib/clock.ts";
import { Code, type HoltError } from "../../lib/errors.ts";
import { createLog } from "../../lib/log.ts";
import { vendorProfiles } from "../../lib/vendor-profile.ts";
import { publish } from "../delivery/publish.ts";
import { eventsService } from "./events.ts";

const ORG = "a".repeat(40);
const operation = { name: EventsService.method.listEvents.name };
const pageTokens = createPageTokens(new Uint8Array(32).fill(7));
const { handlers } = eventsService({ pageTokens, profile: vendorProfiles.get("")! } as never);
const [handler] = [...handlers.values()];

async function list(db: ReadDb, cursor: string): Promise<ListEventsResponse> {
  assert.ok(handler?.kind === "read");
  const request = create(ListEventsRequestSchema, { parent: ORG, cursor });
  return (await handler.handle(request, { db, now: new Date(), operation } as Call)) as ListEventsResponse;
}

async function appendEvents(store: Store): Promise<string[]> {
  const ids = Array.from({ length: 4 }, () => crypto.randomUUID());
  const time = new Date().toISOString();
  const row = {
    type: "t",
    source: "s",
    subject: "",
    group_uid: ORG,
    time,
    audience: "customer" as const,
    body_type: "",
    extensions: "{}",
    data: "{}",
  };
  for (const id of ids)
    await store.transaction((db) =>
      db
        .insertInto("outbox")
        .values({ ...row, id })
        .execute(),
    );
  await publish(store, systemClock, "dev.holt");
  return ids;
}

/** Does something after that many queries. */
function interrupted(db: ReadDb, count: number, action: () => Promise<unknown>): { db: ReadDb; isDone(): boolean } {
  let done = 0;
  const executor = db.getExecutor();
  const counting: QueryExecutor = {
    ...executor,
    async executeQuery(query) {
      const result = await executor.executeQuery(query);
      if (++done === count) await action();
      return result;
    },
  };
  const creator = new QueryCreator<Schema>({ executor: counting });
  return { db: { ...db, selectFrom: creator.selectFrom.bind(creator) as ReadDb["selectFrom"] }, isDone: () => done >= count };
}

async function suite(open: () => Promise<Store>): Promise<void> {
  await test("a reader gets all events, or an error if events are removed while it reads", async () => {
    await using store = await open();
    const group = { uid: ORG, name: "", parent: null, create_time: "", update_time: "", verified: 0, body: "{}" };
    await store.transaction((db) => db.insertInto("group").values(group).execute());
    const outcomes: string[] = [];
    for (let count = 1, isDone = true; isDone; count++) {
      const { cursor } = await list(store.reader, "");
      const ids = await appendEvents(store);
      const remove = () => store.transaction((db) => db.deleteFrom("outbox").where("id", "not in", ids.slice(2)).execute());
      const race = interrupted(store.reader, count, remove);
      const answer = await list(race.db, cursor).catch((error: HoltError) => error);
      isDone = race.isDone();
      if (answer instanceof Error) assert.equal((answer as HoltError).code, Code.OUT_OF_RANGE);
      else
        assert.deepEqual(
          answer.events.map(({ id }) => id),
          ids,
        );
      outcomes.push(answer instanceof Error ? "error" : "all");
    }
    assert.ok(outcomes.includes("error") && outcomes.includes("all"), outcomes.join());
  });
}

describe("the feed on SQLite", () =>
  suite(async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "holt-feed-"));
    const store = await openDatabase({ url: "", dataDir, log: createLog("silent") });
    return { ...store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]().then(() => rm(dataDir, { recursive: true })) };
  }));

describe("the feed on PostgreSQL", () =>
  suite(async () => openDatabase({ url: await createMigratedDatabase(), dataDir: "", log: createLog("silent") })));
