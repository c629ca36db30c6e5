/**
 * Closes connections that a server process never took. The supervisor hands each connection over by node:cluster, which keeps
 * it open without an answer if the process ends before it confirms it.
 */
import type { ChildProcess } from "node:child_process";

/** A message of node:cluster: `newconn` comes with a connection, and the process confirms it with an `ack`. */
interface ClusterMessage {
  readonly act?: string;
  readonly seq?: number;
  /** The `seq` of the message that this one answers. */
  readonly ack?: number;
}

interface Connection {
  /** Has no effect on a closed connection. */
  close(): void;
}

/** Call it before the process gets its first connection. */
export function closeUnconfirmed(process: ChildProcess): void {
  const unconfirmed = new Map<number, Connection>();
  const send = process.send.bind(process) as (...args: unknown[]) => boolean;
  process.send = (message: unknown, ...rest: unknown[]) => {
    const { act, seq } = message as ClusterMessage;
    if (act === "newconn" && seq !== undefined) unconfirmed.set(seq, rest[0] as Connection);
    return send(message, ...rest);
  };
  process.on("internalMessage", ({ ack }: ClusterMessage) => {
    if (ack !== undefined) unconfirmed.delete(ack);
  });
  // The process may have read a part of the request, so another one cannot go on with it.
  process.once("close", () => {
    for (const connection of unconfirmed.values()) connection.close();
    unconfirmed.clear();
  });
}
