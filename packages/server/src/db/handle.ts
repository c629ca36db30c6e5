/** Builds the handles of store.ts on a function that runs one statement. Connections and transactions are elsewhere. */
import { type CompiledQuery, expressionBuilder, QueryCreator, type QueryExecutor, type QueryResult } from "kysely";
import type { Dialect } from "./dialect.ts";
import { assertNoNul } from "./nul.ts";
import type { Schema } from "./schema.ts";
import type { ReadDb, WriteDb } from "./store.ts";

// biome-ignore lint/suspicious/noExplicitAny: only the query's own type knows the type of its rows
export type Execute = (query: CompiledQuery) => Promise<QueryResult<any>>;

/**
 * A handle without methods that write. `with` can still express a write, which the connection behind `execute` must
 * reject.
 */
export function createReadHandle(dialect: Dialect, execute: Execute): ReadDb {
  return readHandleOf(dialect, createExecutor(dialect, execute));
}

/** Functions by which the handle of a transaction runs statements. */
export interface WriteParts extends Pick<WriteDb, "append" | "afterCommit"> {
  readonly execute: Execute;
}

export function createWriteHandle(dialect: Dialect, { execute, append, afterCommit }: WriteParts): WriteDb {
  const executor = createExecutor(dialect, execute);
  const creator = new QueryCreator<Schema>({ executor });
  return {
    ...readHandleOf(dialect, executor),
    insertInto: bound(creator, "insertInto"),
    updateTable: bound(creator, "updateTable"),
    deleteFrom: bound(creator, "deleteFrom"),
    async append(query, errorFor) {
      assertNoNul(query.parameters);
      await append(query, errorFor);
    },
    afterCommit,
    audit: { isCovered: false, changes: [] },
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
  // `bind` sees only the last overload of a method, hence the casts.
  return (creator[name] as unknown as CallableFunction).bind(creator) as QueryCreator<Schema>[K];
}

/** Kysely's own executor spends several microtasks per statement on plugins and pools, which Holt does not use. */
function createExecutor(dialect: Dialect, run: Execute): QueryExecutor {
  const execute: Execute = (query) => {
    assertNoNul(query.parameters);
    return run(query);
  };
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
  throw new Error("database handles support neither streaming nor plugins");
}
