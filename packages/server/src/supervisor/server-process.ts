/** One server process, as its supervisor sees it. */
import type { ChildProcess } from "node:child_process";
import cluster, { type Worker } from "node:cluster";
import { setTimeout as sleep } from "node:timers/promises";
import { ownProgram } from "../lib/program-files.ts";
import { closeUnconfirmed } from "./close-unconfirmed.ts";
import { forwardLines, type LineOutput } from "./forward-lines.ts";
import type { ToServer, ToSupervisor } from "./messages.ts";

export interface Ready {
  readonly signInLink: string | undefined;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why the system could not start the process: for example, it has too many, or the program is being replaced. */
  readonly startError?: string;
}

const SCRAPE_MS = 5_000;

export class ServerProcess {
  readonly number: number;
  /** Undefined if the process ended first. */
  readonly ready: Promise<Ready | undefined>;
  /** Resolves when the process has ended and its log is passed on. */
  readonly ended: Promise<Ended>;
  /** Undefined if it could not be started. */
  readonly #worker: Worker | undefined;
  readonly #scrapes = new Map<number, (text: string) => void>();
  #nextScrape = 0;
  #readyAt: number | undefined;

  /** @param log gets the log of the process */
  constructor(number: number, log: LineOutput) {
    this.number = number;
    const forked = fork();
    this.#worker = forked.worker;
    this.ended = forked.ended;
    const ready = Promise.withResolvers<Ready | undefined>();
    this.ready = ready.promise;
    void this.ended.then(() => ready.resolve(undefined));
    if (forked.worker === undefined) return;
    const { worker } = forked;
    closeUnconfirmed(worker.process);
    forwardLines(worker.process.stderr!, log);
    worker.on("message", (message: ToSupervisor) => {
      if (message.kind === "hello") this.#send({ kind: "start", process: number });
      if (message.kind === "scraped") this.#scrapes.get(message.id)?.(message.text);
      if (message.kind !== "ready") return;
      this.#readyAt = performance.now();
      ready.resolve(message);
    });
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  /** Time for which the process has been ready, in milliseconds. Undefined if it has never been. */
  servedMs(): number | undefined {
    return this.#readyAt === undefined ? undefined : performance.now() - this.#readyAt;
  }

  /** Tells the server to end its running calls. A process that is not ready has none. */
  stop(signal: NodeJS.Signals): void {
    if (this.#readyAt === undefined) this.kill();
    else this.#send({ kind: "stop", signal });
  }

  kill(): void {
    this.#worker?.process.kill("SIGKILL");
  }

  /** All metrics of the process; undefined if it does not answer. */
  async scrape(): Promise<string | undefined> {
    const id = this.#nextScrape++;
    const timeout = new AbortController();
    const answer = new Promise<string>((resolve) => this.#scrapes.set(id, resolve));
    this.#send({ kind: "scrape", id });
    try {
      const late = sleep(SCRAPE_MS, undefined, { signal: timeout.signal });
      return await Promise.race([answer, late, this.ended.then(() => undefined)]);
    } finally {
      timeout.abort();
      this.#scrapes.delete(id);
    }
  }

  #send(message: ToServer): void {
    // Fails if the process has just ended, which `ended` reports.
    this.#worker?.process.send(message, ignore);
  }
}

type Forked = { readonly worker: Worker | undefined; readonly ended: Promise<Ended> };

function fork(): Forked {
  // The supervisor accepts connections and gives each to the next process that is free. If processes accepted connections
  // themselves, some would get most of them, and those that wait for a process would be lost when it ends.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ ...ownProgram("serve"), stdio: ["ignore", "inherit", "pipe", "ipc"] });
  try {
    const worker = cluster.fork();
    worker.on("error", ignore);
    const ended = endOf(worker.process);
    return { worker: worker.process.pid === undefined ? undefined : worker, ended };
  } catch (error) {
    // Node throws some errors, such as a lack of memory, and reports others as an event.
    return { worker: undefined, ended: Promise.resolve(notStarted(error as Error)) };
  }
}

/** A process that could not be started has no event `close`. */
function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
    child.once("error", (error) => child.pid === undefined && resolve(notStarted(error)));
  });
}

function notStarted({ message }: Error): Ended {
  return { code: null, signal: null, startError: message };
}

function ignore(): void {}
