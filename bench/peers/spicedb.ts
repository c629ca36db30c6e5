/** Starts SpiceDB, which keeps its data in memory, with the facts of a tree. */
import { freePort } from "../../packages/server/test/harness/free-port.ts";
import { type CheckPeer, postJson } from "./check-peer.ts";
import { startPeer } from "./process.ts";
import type { Fact, Tree } from "./tree.ts";

/** The server's limit of updates in a write. */
const FACTS_PER_WRITE = 1000;
const KEY = "bench";
const SCHEMA = `
  definition user {}
  definition group {
    relation parent: group
    relation viewer: user
    permission view = viewer + parent->view
  }`;

export async function startSpiceDb(program: string, { facts, checks }: Tree): Promise<CheckPeer> {
  await using cleanUp = new AsyncDisposableStack();
  const port = await freePort();
  const addresses = ["--http-enabled", "--http-addr", `127.0.0.1:${port}`, "--grpc-addr", `127.0.0.1:${await freePort()}`];
  const settings = ["--grpc-preshared-key", KEY, "--datastore-engine", "memory", "--metrics-enabled=false", "--telemetry-endpoint", ""];
  const server = cleanUp.use(await startPeer({ program, args: ["serve", ...settings, ...addresses], port, path: "/openapi.json" }));
  const authorization = `Bearer ${KEY}`;
  await postJson(port, "/v1/schema/write", { schema: SCHEMA }, authorization);
  let written: unknown;
  for (let start = 0; start < facts.length; start += FACTS_PER_WRITE) {
    const updates = facts.slice(start, start + FACTS_PER_WRITE).map(updateOf);
    const answer = await postJson(port, "/v1/relationships/write", { updates }, authorization);
    written = (answer as { writtenAt: unknown }).writtenAt;
  }
  // Without it, the first answers may be those of a few seconds before.
  const consistency = { atLeastAsFresh: written };
  const owned = cleanUp.move();
  return {
    ...server,
    label: "SpiceDB",
    path: "/v1/permissions/check",
    authorization,
    bodies: checks.map(({ identity, uid }) => {
      const subject = { object: referenceTo("user", identity) };
      return { consistency, resource: referenceTo("group", uid), permission: "view", subject };
    }),
    isAllowed: (answer) => (answer as { permissionship?: string }).permissionship === "PERMISSIONSHIP_HAS_PERMISSION",
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function updateOf({ object, relation, subjectType, subject }: Fact) {
  const relationship = { resource: referenceTo("group", object), relation, subject: { object: referenceTo(subjectType, subject) } };
  return { operation: "OPERATION_TOUCH", relationship };
}

function referenceTo(objectType: string, objectId: string) {
  return { objectType, objectId };
}
