/** The operations whose cost is compared between sizes of the data. */
import type { Contender } from "../compare.ts";
import { makeScratchGroup, removeScratchGroup } from "../data/scratch.ts";
import type { StoreName } from "../data/stores.ts";
import { makeExchanges } from "../parts/exchange.ts";
import { someUids } from "../parts/get.ts";
import { pathOf } from "../parts/list.ts";
import { type Served, serve, serveFilled } from "../servers.ts";
import { openManifests } from "./manifests.ts";

/** Few connections, so that requests seldom wait for each other. */
const CONNECTIONS = 4;

export interface Prepared extends AsyncDisposable {
  readonly contender: Contender;
}

export interface GrowingOperation {
  readonly name: string;
  /** Whether it is also measured with ten million rows. */
  readonly isForHuge: boolean;
  prepare(store: StoreName, rows: number): Promise<Prepared>;
}

export const operations: readonly GrowingOperation[] = [
  {
    name: "REST Get",
    isForHuge: true,
    prepare: async (store, rows) => {
      const holt = await serve(store, rows);
      return prepared(
        holt,
        (await someUids(holt)).map((uid) => holt.request("GET", `/iam/v2/identities/${uid}`)),
      );
    },
  },
  {
    name: "REST List of 50 by name",
    isForHuge: true,
    prepare: async (store, rows) => {
      const holt = await serve(store, rows);
      return prepared(holt, [holt.request("GET", pathOf(holt))]);
    },
  },
  {
    name: "REST Create of a group",
    isForHuge: false,
    prepare: async (store, rows) => {
      const holt = await serve(store, rows);
      const group = await makeScratchGroup(holt);
      const body = JSON.stringify({ name: "created", description: "By the benchmark" });
      return prepared(holt, [holt.request("POST", `/iam/v2/groups/${group}`, body)], () => removeScratchGroup(holt, group));
    },
  },
  {
    name: "Token exchange",
    isForHuge: false,
    prepare: async (store, rows) => {
      const holt = await serve(store, rows);
      await using cleanUp = new AsyncDisposableStack();
      const group = await makeScratchGroup(holt);
      cleanUp.defer(() => removeScratchGroup(holt, group));
      const { exchanges } = cleanUp.use(await makeExchanges(holt, group));
      const requests = exchanges.map(({ path, authorization }) => holt.request("POST", path, "", { authorization }));
      const owned = cleanUp.move();
      return prepared(holt, requests, () => owned.disposeAsync());
    },
  },
  {
    name: "Manifest GET by tag",
    isForHuge: false,
    prepare: async (store, rows) => {
      const holt = await serveFilled(await openManifests(store, rows));
      const requests = holt.contents.paths.map((path) => holt.request("GET", path));
      return prepared(holt, requests, async () => holt.server[Symbol.asyncDispose]());
    },
  },
];

function prepared({ server }: Pick<Served, "server">, requests: readonly string[], end: () => Promise<void> = async () => {}): Prepared {
  const contender = { pid: server.pid, load: { port: server.port, connections: CONNECTIONS, requests } };
  return { contender, [Symbol.asyncDispose]: end };
}
