/** The side of a server process that talks to its supervisor. */
import { once } from "node:events";
import type { ToServer, ToSupervisor } from "./messages.ts";

export interface Supervised {
  /** Number of this process, from 1. */
  readonly number: number;
  /** Reports that the server is ready, and takes orders from now on. */
  reportReady(ready: ReadyServer): void;
}

export interface ReadyServer {
  readonly signInLink: string | undefined;
  /** Called once. */
  stop(signal: NodeJS.Signals): void;
  /** All metrics of this process. */
  scrape(): Promise<string>;
}

/** Undefined for a server without a supervisor. */
export async function joinSupervisor(): Promise<Supervised | undefined> {
  const worker = process.connected ? (await import("node:cluster")).default.worker : undefined;
  if (worker === undefined) return undefined;
  // A terminal and systemd send signals to all processes. The supervisor decides what they mean.
  process.on("SIGTERM", ignore).on("SIGINT", ignore);
  const answer = once(worker, "message");
  send({ kind: "hello" });
  const [start] = (await answer) as [ToServer];
  if (start.kind !== "start") throw new Error(`the supervisor sent "${start.kind}" before the start`);
  return {
    number: start.process,
    reportReady({ signInLink, stop, scrape }) {
      let isStopping = false;
      const stopOnce = (signal: NodeJS.Signals) => {
        if (!isStopping) stop(signal);
        isStopping = true;
      };
      worker.on("message", (message: ToServer) => {
        if (message.kind === "stop") stopOnce(message.signal);
        if (message.kind === "scrape") void scrape().then((text) => send({ kind: "scraped", id: message.id, text }), ignore);
      });
      // The supervisor was killed, and nobody can connect any more. Without this, node:cluster would end the process at once.
      worker.once("disconnect", () => {
        worker.exitedAfterDisconnect = true;
        stopOnce("SIGINT");
      });
      send({ kind: "ready", signInLink });
    },
  };
}

function send(message: ToSupervisor): void {
  // The supervisor may be gone, which the event `disconnect` reports.
  process.send?.(message, undefined, {}, ignore);
}

function ignore(): void {}
