/** Keeps several server processes running on one port, and stops them together. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Log, LogOutput } from "../lib/log.ts";
import { type Ended, ServerProcess } from "./server-process.ts";

export interface SupervisorOptions {
  /** Number of processes. */
  readonly count: number;
  readonly log: Log;
  /** Gets the logs of all processes. */
  readonly output: LogOutput;
}

/** The pause before a process is replaced doubles until one has served for `STABLE_MS`. */
const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;
const STABLE_MS = 60_000;
/** Starts that may fail one after another while no process serves. */
const MAX_FAILED_STARTS = 5;

const NOT_STARTED = "a server process could not be started";

/** The result of the first start of the first process. */
export interface Started {
  readonly signInLink: string | undefined;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #processes = new Map<number, ServerProcess>();
  readonly #stopped = new AbortController();
  readonly #end = Promise.withResolvers<number>();
  #keepers: Promise<void>[] = [];
  #exitCode = 0;
  #failedStarts = 0;
  #restarts = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** The exit status of the program, when all processes have ended. */
  get end(): Promise<number> {
    return this.#end.promise;
  }

  /** Number of replaced processes so far. */
  get restarts(): number {
    return this.#restarts;
  }

  /** The processes that serve. */
  serving(): ServerProcess[] {
    return [...this.#processes.values()].filter((process) => process.servedMs() !== undefined);
  }

  /**
   * Starts the first process alone: it prepares the database, and what is wrong with the settings is reported once. Then
   * starts the others.
   * @returns when the first one serves; undefined if it ended before, and then `end` resolves
   */
  async start(): Promise<Started | undefined> {
    const first = this.#startProcess(1);
    const ready = await first.ready;
    if (ready === undefined) {
      const { code, startError } = await first.ended;
      if (startError !== undefined) this.#options.log.fatal({ startError }, NOT_STARTED);
      this.#end.resolve(this.#isStopping ? 0 : (code ?? 1));
      return undefined;
    }
    const others = Array.from({ length: this.#options.count - 1 }, (_, i) => this.#startProcess(i + 2));
    this.#keepers = [first, ...others].map((process) => this.#keep(process));
    void Promise.all(this.#keepers).then(() => this.#end.resolve(this.#exitCode));
    return ready;
  }

  /** Ends all processes after their running calls. The second time, it does not wait for calls. */
  stop(signal: NodeJS.Signals): void {
    if (this.#isStopping) this.#exitCode = 1;
    for (const process of this.#processes.values()) this.#isStopping ? process.kill() : process.stop(signal);
    this.#stopped.abort();
  }

  get #isStopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  #startProcess(number: number): ServerProcess {
    const process = new ServerProcess(number, this.#options.output);
    this.#processes.set(number, process);
    void process.ready.then((ready) => {
      this.#failedStarts = ready === undefined ? this.#failedStarts + 1 : 0;
      if (ready !== undefined) this.#options.log.info({ process: number, pid: process.pid }, "a server process is ready");
    });
    return process;
  }

  /** Replaces the process, and its replacements, until the stop. */
  async #keep(first: ServerProcess): Promise<void> {
    let process = first;
    let pauseMs = MIN_PAUSE_MS;
    for (;;) {
      const ended = await process.ended;
      this.#processes.delete(process.number);
      if (this.#isStopping) return this.#recordStop(process, ended);
      const servedMs = Math.round(process.servedMs() ?? 0);
      if (servedMs >= STABLE_MS) pauseMs = MIN_PAUSE_MS;
      const { log } = this.#options;
      const message = ended.startError === undefined ? "a server process ended and is started again" : NOT_STARTED;
      log.error({ process: process.number, pid: process.pid, servedMs, pauseMs, ...ended }, message);
      if (this.#failedStarts >= MAX_FAILED_STARTS && this.serving().length === 0) return this.#giveUp();
      await sleep(pauseMs, undefined, { signal: this.#stopped.signal }).catch(() => {});
      if (this.#isStopping) return;
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
      this.#restarts++;
      process = this.#startProcess(process.number);
    }
  }

  #recordStop(process: ServerProcess, { code }: Ended): void {
    if (process.servedMs() !== undefined && code !== 0) this.#exitCode = 1;
  }

  #giveUp(): void {
    this.#options.log.fatal({ failedStarts: this.#failedStarts }, "giving up: server processes end before they are ready, and none serves");
    this.#exitCode = 1;
    this.stop("SIGTERM");
  }
}
