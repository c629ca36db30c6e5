/**
 * Runs parsers of content that callers supply, under limits of CPU time and memory. They run on threads, so that they do
 * not delay other requests, and organizations share the threads. Small inputs of parsers that are linear run at once.
 */
import { availableParallelism } from "node:os";
import { invalidArgument, resourceExhausted, unavailable } from "../lib/errors.ts";
import { createFairQueue, type FairQueue } from "./fair-queue.ts";
import { LimitExceeded, NoAnswer } from "./job-limits.ts";
import { JobThreads } from "./job-threads.ts";

/** Documents take seconds at the most. Archives take longer, so they have threads of their own. */
export type ParserPool = "documents" | "archives";

export interface Parser<Input, Output> {
  /** URL of the module with the function, which may be asynchronous. It gets a copy of the input, and its result is copied. */
  readonly module: URL;
  /** The name of the exported function. It throws HoltErrors for inputs that it refuses. */
  readonly name: string;
  readonly pool: ParserPool;
  /** CPU time for an input, in milliseconds. */
  readonly cpuMs: (input: Input) => number;
  /** The field of the request that a refusal names. */
  readonly field: string;
  /** What is parsed, as in "the POM". */
  readonly content: string;
  /** The same function, for inputs that are small enough for the main thread: at most a millisecond or two. */
  readonly atOnce?: { isSmall(input: Input): boolean; parse(input: Input): Output };
}

/** Infers nothing: a parser in a thread is found by its name, so state its types. */
export function defineParser<Input, Output>(parser: Parser<Input, Output>): Parser<Input, Output> {
  return parser;
}

export interface ParsingJob {
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
}

/** The limits of the parsers themselves, such as those of nodes and entries, need less. */
const MEMORY_MB = 192;
/** V8's own limit: a thread that reaches it can end the process, so it is ended long before. */
const MAX_HEAP_MB = 4 * MEMORY_MB;
const MIN_THREADS = 2;
const MAX_THREADS = 4;
const MAX_WAITING = 1000;
const MAX_WAITING_OF_ONE = 64;

interface Pool {
  readonly threads: JobThreads<ParsingJob, never, never, unknown>;
  readonly queue: FairQueue;
}

export class Parsers implements AsyncDisposable {
  readonly #pools: Readonly<Record<ParserPool, Pool>>;

  /** @param threads of each pool */
  constructor(threads = Math.min(Math.max(availableParallelism(), MIN_THREADS), MAX_THREADS)) {
    this.#pools = { documents: createPool("documents", threads), archives: createPool("archives", threads) };
  }

  /**
   * @param caller a uid of the organization that the threads are shared by
   * @throws the parser's refusal; INVALID_ARGUMENT above a limit; RESOURCE_EXHAUSTED while too much of the caller waits;
   * UNAVAILABLE if the thread does not answer
   */
  async run<Input, Output>(parser: Parser<Input, Output>, input: Input, caller: string): Promise<Output> {
    if (parser.atOnce?.isSmall(input)) return parser.atOnce.parse(input);
    const { threads, queue } = this.#pools[parser.pool];
    const job = { module: parser.module.href, name: parser.name, input };
    const never = new AbortController().signal;
    try {
      return (await queue.run(caller, () =>
        threads.run(job, () => {}, never, { cpuMs: parser.cpuMs(input), memoryMb: MEMORY_MB }),
      )) as Output;
    } catch (error) {
      throw refusalOfLimit(parser, error) ?? error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Object.values(this.#pools).map(({ threads }) => threads[Symbol.asyncDispose]()));
  }
}

function createPool(name: ParserPool, slots: number): Pool {
  return {
    threads: new JobThreads({
      module: new URL("./parsing-thread.ts", import.meta.url),
      name: `parser of ${name}`,
      maxHeapMb: MAX_HEAP_MB,
      keptThreads: 1,
    }),
    queue: createFairQueue({
      slots,
      // However much one organization sends, it leaves as many threads free as it has.
      shareOfOne: 1 / 2,
      maxWaitingOfOne: MAX_WAITING_OF_ONE,
      maxWaiting: MAX_WAITING,
      refusal: () => resourceExhausted(`the server already parses as many ${name} for the organization as it may; try again shortly`, 1),
    }),
  };
}

function refusalOfLimit({ field, content }: Pick<Parser<never, never>, "field" | "content">, error: unknown): Error | undefined {
  if (error instanceof NoAnswer) return unavailable(`the server could not read ${content} in time; try again shortly`);
  if (!(error instanceof LimitExceeded)) return undefined;
  return invalidArgument(field, `${content} takes too much ${error.limit} to read; simplify it`);
}
