/** Runs inside a thread of job-threads.ts: does the jobs that it is given. */
import { parentPort } from "node:worker_threads";
import { HoltError } from "../lib/errors.ts";
import type { FromThread, ToThread } from "./job-threads.ts";

export interface Conversation<Said, Reply> {
  say(said: Said): void;
  /** Waits for the next reply. Replies arrive in the order in which they were sent. */
  reply(): Promise<Reply>;
}

/** Does one job after the other, until the thread ends. */
export function doJobs<Job, Said, Reply, Result>(work: (job: Job, conversation: Conversation<Said, Reply>) => Promise<Result>): void {
  const post = (message: FromThread<Said, Result>) => parentPort?.postMessage(message);
  const replies: Reply[] = [];
  let onReply: (() => void) | undefined;
  const conversation: Conversation<Said, Reply> = {
    say: (said) => post({ kind: "said", said }),
    async reply() {
      while (replies.length === 0) await new Promise<void>((resolve) => (onReply = resolve));
      return replies.shift() as Reply;
    },
  };
  parentPort?.on("message", (message: ToThread<Job, Reply>) => {
    if (message.kind === "reply") {
      replies.push(message.reply);
      return onReply?.();
    }
    replies.length = 0;
    work(message.job, conversation).then(
      (result) => post({ kind: "end", result }),
      (error: unknown) => post(error instanceof HoltError ? refusalFrom(error) : { kind: "error", message: (error as Error).message }),
    );
  });
}

/** An error that a caller gets. Posting it as it is would lose its code. */
function refusalFrom({ code, message, details }: HoltError): FromThread<never, never> {
  return { kind: "refusal", code, message, details };
}
