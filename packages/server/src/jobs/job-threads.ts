/** A pool of threads for jobs that parse much: they do not delay calls, have memory of their own, and can be ended at any time. */
import type { Worker } from "node:worker_threads";
import { type Code, type ErrorDetails, HoltError } from "../lib/errors.ts";
import { startThread } from "../lib/program-files.ts";
import { type JobLimits, watchJob } from "./job-limits.ts";

/** Messages of a thread about its job: those on the way, which may get a reply, and how the job ended. */
export type FromThread<Said, Result> =
  | { readonly kind: "said"; readonly said: Said }
  | { readonly kind: "error"; readonly message: string }
  | Ending<Result>;
/** The end of a job after which its thread can run the next job. */
type Ending<Result> =
  | { readonly kind: "end"; readonly result: Result }
  | { readonly kind: "refusal"; readonly code: Code; readonly message: string; readonly details: ErrorDetails };
export type ToThread<Job, Reply> = { readonly kind: "job"; readonly job: Job } | { readonly kind: "reply"; readonly reply: Reply };

export interface JobThreadsOptions {
  /** URL of the module that calls `doJobs` (job-thread.ts). */
  readonly module: URL;
  /** The name of the threads, for debuggers. */
  readonly name: string;
  /**
   * A thread that needs more memory ends. If a single step needs more, such as parsing one string, the whole process
   * ends: allow for the largest step.
   */
  readonly maxHeapMb: number;
  /** Threads that stay however long they are idle, because starting one takes a quarter of a second. */
  readonly keptThreads?: number;
}

/** Receives the messages of a thread, without waiting for the promise of the last call. An error ends the job. */
export type Listener<Said, Reply> = (said: Said, reply: (reply: Reply) => void) => void | Promise<void>;

const IDLE_MS = 30_000;
/** Most objects of a job live shortly: with a smaller young generation, collecting them takes a fifth of the time. */
const MAX_YOUNG_MB = 32;

/** Starts as many threads as there are jobs at the same time. Each stays a while for the next job. */
export class JobThreads<Job, Said, Reply, Result> implements AsyncDisposable {
  readonly #options: JobThreadsOptions;
  readonly #all = new Set<Worker>();
  readonly #idle: { readonly thread: Worker; readonly timer: NodeJS.Timeout }[] = [];

  constructor(options: JobThreadsOptions) {
    this.#options = options;
  }

  /**
   * @throws the listener's error; the signal's reason; LimitExceeded; a HoltError that the job threw; an Error where the
   * thread failed. Unless the job itself threw a HoltError, the thread has ended before this rejects
   */
  async run(job: Job, onSaid: Listener<Said, Reply>, signal: AbortSignal, limits?: JobLimits): Promise<Result> {
    const thread = this.#take();
    const stop = new AbortController();
    const watch = limits === undefined ? undefined : watchJob(thread, limits, (error) => stop.abort(error));
    try {
      const ending = await this.#converse(thread, job, onSaid, AbortSignal.any([signal, stop.signal]));
      if (ending.kind === "refusal") throw new HoltError(ending.code, ending.message, ending.details);
      return ending.result;
    } finally {
      watch?.[Symbol.dispose]();
    }
  }

  /** Afterwards the thread waits for its next job, or has ended. */
  async #converse(thread: Worker, job: Job, onSaid: Listener<Said, Reply>, signal: AbortSignal): Promise<Ending<Result>> {
    try {
      const ending = await converse<Job, Said, Reply, Result>(thread, job, onSaid, signal);
      this.#keep(thread);
      return ending;
    } catch (error) {
      // The job may still run after any error.
      await this.#end(thread);
      throw error;
    }
  }

  #take(): Worker {
    const last = this.#idle.pop();
    clearTimeout(last?.timer);
    const thread = last?.thread ?? this.#start();
    thread.ref();
    return thread;
  }

  #start(): Worker {
    const { module, name, maxHeapMb } = this.#options;
    const thread = startThread(module, {
      name,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    });
    // `converse` handles errors; without a listener they would end the process.
    thread.on("error", () => {});
    // A thread that exited must not get another job.
    thread.on("exit", () => this.#forget(thread));
    this.#all.add(thread);
    return thread;
  }

  #keep(thread: Worker): void {
    // It may have exited since the job ended, and would never answer.
    if (!this.#all.has(thread)) return;
    thread.unref();
    const timer = setTimeout(() => this.#endIdle(thread), IDLE_MS).unref();
    this.#idle.push({ thread, timer });
  }

  #endIdle(thread: Worker): void {
    if (this.#all.size > (this.#options.keptThreads ?? 0)) void this.#end(thread);
  }

  async #end(thread: Worker): Promise<void> {
    this.#forget(thread);
    await thread.terminate();
  }

  #forget(thread: Worker): void {
    this.#all.delete(thread);
    const index = this.#idle.findIndex((idle) => idle.thread === thread);
    if (index >= 0) clearTimeout(this.#idle.splice(index, 1)[0]?.timer);
  }

  /** Ends all threads. Jobs that are under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all].map((thread) => this.#end(thread)));
  }
}

/** Resolves when the thread reports the end of the job. */
function converse<Job, Said, Reply, Result>(
  thread: Worker,
  job: Job,
  onSaid: Listener<Said, Reply>,
  signal: AbortSignal,
): Promise<Ending<Result>> {
  return new Promise((resolve, reject) => {
    const send = (message: ToThread<Job, Reply>) => thread.postMessage(message);
    const reply = (value: Reply) => send({ kind: "reply", reply: value });
    const onMessage = (message: FromThread<Said, Result>) => {
      if (message.kind === "end" || message.kind === "refusal") settle(() => resolve(message));
      else if (message.kind === "error") onError(new Error(message.message));
      else (async () => onSaid(message.said, reply))().catch(onError);
    };
    const onError = (error: unknown) => settle(() => reject(error));
    const onExit = () => onError(new Error("the thread of the job has exited"));
    const onAbort = () => onError(signal.reason);
    const settle = (how: () => void) => {
      thread.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      how();
    };
    thread.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else send({ kind: "job", job });
  });
}
