/** Makes the handles of store.ts out of a function that runs one statement; knows neither connections nor transactions. */
import { type CompiledQuery, expressionBuilder, QueryCreator, type QueryExecutor, type QueryResult } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Schema } from "./schema.ts";
import type { ReadDb, WriteDb } from "./store.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a row is, only the query's own type says
export type Execute = (query: CompiledQuery) => Promise<QueryResult<any>>;

/** A handle without anything that writes. `with` can still spell a write; the connection behind `execute` must refuse that. */
export function createReadHandle(dialect: Dialect, execute: Execute): ReadDb {
  return readHandleOf(dialect, createExecutor(dialect, execute));
}

export function createWriteHandle(dialect: Dialect, execute: Execute, afterCommit: WriteDb["afterCommit"]): WriteDb {
  const executor = createExecutor(dialect, execute);
  const creator = new QueryCreator<Schema>({ executor });
  return {
    ...readHandleOf(dialect, executor),
    insertInto: bound(creator, "insertInto"),
    updateTable: bound(creator, "updateTable"),
    deleteFrom: bound(creator, "deleteFrom"),
    afterCommit,
  };
}

function readHandleOf(dialect: Dialect, executor: QueryExecutor): ReadDb {
  const creator = new QueryCreator<Schema>({ executor });
  return {
    dialect,
    fn: FUNCTIONS,
    selectFrom: bound(creator, "selectFrom"),
    selectNoFrom: bound(creator, "selectNoFrom"),
    with: bound(creator, "with"),
    getExecutor: () => executor,
  };
}

const FUNCTIONS = expressionBuilder<Schema, keyof Schema>().fn;

function bound<K extends keyof QueryCreator<Schema>>(creator: QueryCreator<Schema>, name: K): QueryCreator<Schema>[K] {
  // `bind` knows only the last overload of a method, hence the detour of types.
  return (creator[name] as unknown as CallableFunction).bind(creator) as QueryCreator<Schema>[K];
}

/** Kysely's own executor takes several turns of the microtask queue per statement for plugins and pools that are not here. */
function createExecutor(dialect: Dialect, execute: Execute): QueryExecutor {
  return {
    adapter: dialect.adapter,
    plugins: [],
    transformQuery: (node) => node,
    compileQuery: (node, queryId) => dialect.compiler.compileQuery(node, queryId),
    executeQuery: execute,
    provideConnection: (consumer) => consumer({ executeQuery: execute, streamQuery: unsupported }),
    stream: unsupported,
    withConnectionProvider: unsupported,
    withPlugin: unsupported,
    withPlugins: unsupported,
    withPluginAtFront: unsupported,
    withoutPlugins: unsupported,
  };
}

function unsupported(): never {
  throw new Error("Holt's database handles neither stream nor take plugins");
}
