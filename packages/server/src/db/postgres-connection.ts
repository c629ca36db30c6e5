/** Single connections to PostgreSQL: opening one for a few statements, and closing one that does not answer. */
import type { Socket } from "node:net";
import pg, { type ClientBase } from "pg";

const STEP_MS = 2_000;

/** Runs statements on a new connection, so that neither pools nor old connections matter. Each step takes 2 s at most. */
export async function withConnection<T>(connectionString: string, use: (client: ClientBase) => Promise<T>): Promise<T> {
  const limits = { connectionTimeoutMillis: STEP_MS, query_timeout: STEP_MS };
  const client = new pg.Client({ connectionString, application_name: "holt", ...limits });
  client.on("error", () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.end().catch(() => {});
    // A silent connection does not end by itself.
    setTimeout(() => destroyConnection(client), STEP_MS).unref();
  }
}

/** Closes the socket at once, also where the other side does not answer. Pending statements fail. */
export function destroyConnection(client: ClientBase): void {
  socketOf(client).destroy(new Error("the database connection does not answer"));
}

export function socketOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

/** Lets all statements that `send` sends leave in one write. */
export function inOneWrite<T>(client: ClientBase, send: () => T): T {
  const socket = socketOf(client);
  socket.cork();
  try {
    return send();
  } finally {
    socket.uncork();
  }
}
