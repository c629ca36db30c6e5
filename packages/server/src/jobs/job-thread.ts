/** The other side of job-threads.ts: what a thread's module is made of. */
import { parentPort } from "node:worker_threads";
import type { FromThread, ToThread } from "./job-threads.ts";

export interface Conversation<Said, Reply> {
  say(said: Said): void;
  /** The next reply, in the order of replies. */
  reply(): Promise<Reply>;
}

/** Does one job after another, for as long as the thread lives. */
export function doJobs<Job, Said, Reply, Result>(work: (job: Job, conversation: Conversation<Said, Reply>) => Promise<Result>): void {
  const tell = (message: FromThread<Said, Result>) => parentPort?.postMessage(message);
  const replies: Reply[] = [];
  let onReply: (() => void) | undefined;
  const conversation: Conversation<Said, Reply> = {
    say: (said) => tell({ kind: "said", said }),
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
      (result) => tell({ kind: "end", result }),
      (error: unknown) => tell({ kind: "error", message: (error as Error).message }),
    );
  });
}
