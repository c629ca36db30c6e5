/** Threads that do jobs beside the server's own: what they parse keeps no call waiting, has memory of its own, and can be ended at any time. */
import { Worker } from "node:worker_threads";

/** What a thread says of its job: things on the way, which may be replied to, and how it ended. */
export type FromThread<Said, Result> =
  | { readonly kind: "said"; readonly said: Said }
  | { readonly kind: "end"; readonly result: Result }
  | { readonly kind: "error"; readonly message: string };
export type ToThread<Job, Reply> = { readonly kind: "job"; readonly job: Job } | { readonly kind: "reply"; readonly reply: Reply };

export interface JobThreadsOptions {
  /** Of the module that calls `doJobs` (job-thread.ts). */
  readonly module: URL;
  /** For those who look at the process. */
  readonly name: string;
  /**
   * The thread ends where it needs more, but the whole process where a single step does, such as parsing one text: there must be room for the
   * worst that a step can be made to take.
   */
  readonly maxHeapMb: number;
}

/** Hears what a thread says; its promise is not waited for before the next is heard. What it throws ends the job. */
export type Listener<Said, Reply> = (said: Said, reply: (reply: Reply) => void) => void | Promise<void>;

const IDLE_MS = 30_000;
/** Most of what a job makes is soon of no use: with less room, collecting it takes a fifth of the time. */
const MAX_YOUNG_MB = 32;

/** As many as there are jobs at the same time. Each stays a while for the next one. */
export class JobThreads<Job, Said, Reply, Result> implements AsyncDisposable {
  readonly #options: JobThreadsOptions;
  readonly #all = new Set<Worker>();
  readonly #idle: { readonly thread: Worker; readonly timer: NodeJS.Timeout }[] = [];

  constructor(options: JobThreadsOptions) {
    this.#options = options;
  }

  /** @throws what the listener throws; the signal's reason; an Error where the thread failed. Then the thread is gone before this rejects */
  async run(job: Job, onSaid: Listener<Said, Reply>, signal: AbortSignal): Promise<Result> {
    const thread = this.#take();
    try {
      const result = await converse<Job, Said, Reply, Result>(thread, job, onSaid, signal);
      this.#keep(thread);
      return result;
    } catch (error) {
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
    const thread = new Worker(module, {
      name,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    });
    // What ends it is heard where it is waited for.
    thread.on("error", () => {});
    // One that ended by itself would never do its next job.
    thread.on("exit", () => this.#forget(thread));
    this.#all.add(thread);
    return thread;
  }

  #keep(thread: Worker): void {
    thread.unref();
    const timer = setTimeout(() => void this.#end(thread), IDLE_MS).unref();
    this.#idle.push({ thread, timer });
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

  /** Jobs under way fail. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#all].map((thread) => this.#end(thread)));
  }
}

/** Settles when the thread has said its last word about the job, or cannot any more. */
function converse<Job, Said, Reply, Result>(thread: Worker, job: Job, onSaid: Listener<Said, Reply>, signal: AbortSignal): Promise<Result> {
  return new Promise<Result>((resolve, reject) => {
    const send = (message: ToThread<Job, Reply>) => thread.postMessage(message);
    const reply = (value: Reply) => send({ kind: "reply", reply: value });
    const onMessage = (message: FromThread<Said, Result>) => {
      if (message.kind === "end") settle(() => resolve(message.result));
      else if (message.kind === "error") onError(new Error(message.message));
      else (async () => onSaid(message.said, reply))().catch(onError);
    };
    const onError = (error: unknown) => settle(() => reject(error));
    const onExit = () => onError(new Error("the thread that did it has ended"));
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
