/** Starts OpenFGA with the facts of a tree. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { makeFolder } from "../registry/servers.ts";
import { type CheckPeer, postJson } from "./check-peer.ts";
import { startPeer } from "./process.ts";
import type { Fact, Tree } from "./tree.ts";

/** The server's limit of tuples in a write. */
const FACTS_PER_WRITE = 100;
const MODEL = {
  schema_version: "1.1",
  type_definitions: [
    { type: "user" },
    {
      type: "group",
      relations: {
        parent: { this: {} },
        viewer: {
          union: {
            child: [{ this: {} }, { tupleToUserset: { tupleset: { relation: "parent" }, computedUserset: { relation: "viewer" } } }],
          },
        },
      },
      metadata: {
        relations: {
          parent: { directly_related_user_types: [{ type: "group" }] },
          viewer: { directly_related_user_types: [{ type: "user" }] },
        },
      },
    },
  ],
};

export async function startOpenFga(program: string, engine: "memory" | "sqlite", { facts, checks }: Tree): Promise<CheckPeer> {
  await using cleanUp = new AsyncDisposableStack();
  const folder = cleanUp.use(await makeFolder("openfga"));
  const store = [
    "--datastore-engine",
    engine,
    ...(engine === "sqlite" ? ["--datastore-uri", `file:${join(folder.path, "openfga.db")}`] : []),
  ];
  if (engine === "sqlite") await promisify(execFile)(program, ["migrate", ...store]);
  const port = await freePort();
  const addresses = ["--http-addr", `127.0.0.1:${port}`, "--grpc-addr", `127.0.0.1:${await freePort()}`];
  const args = ["run", ...store, ...addresses, "--playground-enabled=false", "--metrics-enabled=false"];
  const server = cleanUp.use(await startPeer({ program, args, port, path: "/healthz" }));
  const { id } = (await postJson(port, "/stores", { name: "bench" })) as { id: string };
  const model = (await postJson(port, `/stores/${id}/authorization-models`, MODEL)) as { authorization_model_id: string };
  for (let start = 0; start < facts.length; start += FACTS_PER_WRITE) {
    const tuple_keys = facts.slice(start, start + FACTS_PER_WRITE).map(tupleOf);
    await postJson(port, `/stores/${id}/write`, { writes: { tuple_keys }, ...model });
  }
  const owned = cleanUp.move();
  return {
    ...server,
    label: `OpenFGA (${engine})`,
    path: `/stores/${id}/check`,
    authorization: undefined,
    bodies: checks.map(({ identity, uid }) => ({
      tuple_key: { user: `user:${identity}`, relation: "viewer", object: `group:${uid}` },
      ...model,
    })),
    isAllowed: (answer) => (answer as { allowed?: boolean }).allowed === true,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function tupleOf({ object, relation, subjectType, subject }: Fact) {
  return { user: `${subjectType}:${subject}`, relation, object: `group:${object}` };
}
