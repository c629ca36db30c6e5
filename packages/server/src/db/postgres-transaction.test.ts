import assert from "node:assert/strict";
import { test } from "node:test";
import { CompiledQuery } from "kysely";
import type { ClientBase } from "pg";
import { createReadHandle } from "./handle.ts";
import { postgresDialect } from "./postgres-dialect.ts";
import { createPostgresTransaction } from "./postgres-transaction.ts";

/** A transaction whose statements all succeed. Each write has the statements that left in it. */
function recorded() {
  const writes: string[][] = [];
  let corked: string[] | undefined;
  const send = async (text: string) => {
    if (corked === undefined) writes.push([text]);
    else corked.push(text);
    return { rows: [] };
  };
  const stream = {
    cork: () => {
      corked = [];
    },
    uncork: () => {
      if (corked !== undefined) writes.push(corked);
      corked = undefined;
    },
  };
  const client = { connection: { stream }, query: ({ text }: { text: string }) => send(text) } as unknown as ClientBase;
  const transaction = createPostgresTransaction({
    client,
    begin: async () => void (await send("begin")),
    execute: ({ sql }) => send(sql),
    watch: (statements) => statements(),
  });
  return { writes, transaction };
}

const noError = (error: unknown) => error;
const raw = (text: string) => CompiledQuery.raw(text);
const read = createReadHandle(postgresDialect, async () => ({ rows: [] }))
  .selectFrom("group")
  .select("uid")
  .compile();

test("begin leaves with reads, and appended statements leave with the next statement or with commit", async () => {
  const { writes, transaction } = recorded();
  await Promise.all([transaction.execute(read), transaction.execute(read)]);
  await transaction.append(raw("insert a"), noError);
  await transaction.execute(raw("update b"));
  await transaction.append(raw("insert c"), noError);
  await transaction.append(raw("insert d"), noError);
  await transaction.commit();
  assert.deepEqual(writes, [["begin", read.sql], [read.sql], ["insert a", "update b"], ["insert c", "insert d", "commit"]]);
});

test("no write leaves before the transaction has begun", async () => {
  const { writes, transaction } = recorded();
  await transaction.append(raw("insert a"), noError);
  await transaction.execute(read);
  await transaction.commit();
  assert.deepEqual(writes, [["begin"], ["insert a", read.sql], ["commit"]]);
});

test("a transaction without statements sends nothing", async () => {
  const { writes, transaction } = recorded();
  await transaction.commit();
  assert.deepEqual(writes, []);
  assert.equal(transaction.isBegun, false);
});
