/**
 * Sends lookups that are asked for in one turn of the event loop over one connection together. Most of the cost of a lookup is its
 * round trip: a system call on each side, and two processes to wake.
 */
import type { CompiledQuery, QueryResult } from "kysely";
import type { PoolClient } from "pg";
import { weightOf } from "./lookup.ts";
import { inOneWrite } from "./postgres-connection.ts";
import { executeOn } from "./postgres-statements.ts";

/** Weight of one round trip. Further lookups take other connections, so that several processors answer. */
const MAX_WEIGHT = 16;

interface Waiting {
  readonly query: CompiledQuery;
  // biome-ignore lint/suspicious/noExplicitAny: only the query's own type knows the type of its rows
  resolve(result: QueryResult<any>): void;
  reject(error: unknown): void;
}

/** Runs the work with a connection that pipelines statements. */
type WithClient = (work: (client: PoolClient) => Promise<void>) => Promise<void>;

export class PostgresLookups {
  readonly #withClient: WithClient;
  #waiting: Waiting[] = [];

  constructor(withClient: WithClient) {
    this.#withClient = withClient;
  }

  /** Rejects with the error of this lookup. Others of the same round trip are not affected, unless the connection is lost. */
  // biome-ignore lint/suspicious/noExplicitAny: only the query's own type knows the type of its rows
  execute(query: CompiledQuery): Promise<QueryResult<any>> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ query, resolve, reject }) === 1) setImmediate(() => this.#send());
    });
  }

  #send(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const lookups of inRoundTrips(all)) void this.#sendTogether(lookups);
  }

  async #sendTogether(lookups: readonly Waiting[]): Promise<void> {
    try {
      await this.#withClient((client) => runTogether(client, lookups));
    } catch (error) {
      // There is no connection. A lookup that has its result ignores this.
      for (const { reject } of lookups) reject(error);
    }
  }
}

/** In order; each round trip takes as many as its weight allows. */
function inRoundTrips(lookups: readonly Waiting[]): Waiting[][] {
  const trips: Waiting[][] = [];
  let room = 0;
  for (const lookup of lookups) {
    const weight = weightOf(lookup.query) ?? MAX_WEIGHT;
    if (weight > room) {
      trips.push([]);
      room = MAX_WEIGHT;
    }
    trips.at(-1)?.push(lookup);
    room -= weight;
  }
  return trips;
}

async function runTogether(client: PoolClient, lookups: readonly Waiting[]): Promise<void> {
  await Promise.all(inOneWrite(client, () => lookups.map(({ query, resolve, reject }) => executeOn(client, query).then(resolve, reject))));
}
