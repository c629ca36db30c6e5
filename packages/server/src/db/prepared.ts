/**
 * Builds the SQL text of a statement once and binds values at each call. Kysely writes the statement with placeholders
 * in place of values. The connections keep the driver's prepared statement by its text.
 */
import type { CompiledQuery } from "kysely";
import type { Dialect } from "./dialect.ts";
import { asLookup, type Weight } from "./lookup.ts";
import { Placeholder } from "./placeholder.ts";
import type { ReadDb } from "./store.ts";

/** Gives a placeholder the type of the value that it stands for. Builders pass it on as a parameter and must not look at it. */
export type Placeholders<Values> = <Name extends keyof Values & string>(name: Name) => Values[Name];

type Build<Values, Row> = (db: ReadDb, param: Placeholders<Values>) => CompiledQuery<Row>;

export interface Prepared<Values, Row> {
  /** The statement with these values. */
  bind(db: ReadDb, values: Values): CompiledQuery<Row>;
  /** The rows of the statement with these values. */
  rows(db: ReadDb, values: Values): Promise<Row[]>;
  /** The first row; undefined if there is none. */
  first(db: ReadDb, values: Values): Promise<Row | undefined>;
}

export interface PreparedOptions {
  /** Set for a lookup; left out for a statement that may take long. */
  readonly weight?: Weight | undefined;
}

/** @param build runs once per store. The text of the statement must be the same whatever the values are */
export function prepare<Values extends object, Row>(build: Build<Values, Row>, { weight }: PreparedOptions = {}): Prepared<Values, Row> {
  // There are two dialects.
  const compiled = new Map<Dialect, CompiledQuery<Row>>();
  const compile = (db: ReadDb): CompiledQuery<Row> => {
    const query = build(db, (name) => new Placeholder(name) as never);
    return weight === undefined ? query : asLookup(query, weight);
  };
  const bind = (db: ReadDb, values: Values): CompiledQuery<Row> => {
    const query = compiled.get(db.dialect) ?? compile(db);
    compiled.set(db.dialect, query);
    const parameters = query.parameters.map((parameter) => (parameter instanceof Placeholder ? parameter.valueIn(values) : parameter));
    return { ...query, parameters };
  };
  const run = (db: ReadDb, values: Values) => db.getExecutor().executeQuery<Row>(bind(db, values));
  return {
    bind,
    rows: async (db, values) => (await run(db, values)).rows,
    first: async (db, values) => (await run(db, values)).rows[0],
  };
}

export interface PreparedEachOptions<Key> {
  /** For keys that callers influence. Further statements replace the oldest. */
  readonly capacity: number;
  readonly weight?: Weight | ((key: Key) => Weight | undefined);
}

/**
 * Statements that differ only in names, such as that of a table, or in their form.
 * @param nameOf what determines the text of the statement; the same for keys with the same text
 */
export function prepareEach<Key, Values extends object, Row>(
  build: (key: Key) => Build<Values, Row>,
  nameOf: (key: Key) => string,
  { capacity, weight }: PreparedEachOptions<Key>,
): (key: Key) => Prepared<Values, Row> {
  const statements = new Map<string, Prepared<Values, Row>>();
  return (key) => {
    const name = nameOf(key);
    const known = statements.get(name);
    if (known !== undefined) return known;
    const statement = prepare(build(key), { weight: typeof weight === "function" ? weight(key) : weight });
    const [oldest] = statements.keys();
    if (statements.size >= capacity && oldest !== undefined) statements.delete(oldest);
    statements.set(name, statement);
    return statement;
  };
}
