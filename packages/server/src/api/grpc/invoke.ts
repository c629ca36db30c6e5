/** Runs an operation for a gRPC caller, and ends the wait when the call is aborted. */
import type { Message } from "@bufbuild/protobuf";
import { type CallMetadata, type MessageSource, messageOf } from "../call/call.ts";
import type { Operation } from "../call/operation.ts";
import type { Run } from "../call/run.ts";

/** The reply as a message: every gRPC protocol sends messages. */
export async function invoke(run: Run, operation: Operation, source: MessageSource, metadata: CallMetadata): Promise<Message> {
  return messageOf(await run(operation, source, metadata));
}

/** Settles like `result`, or rejects with the signal's reason, whichever comes first. */
export function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    result.then(resolve, reject);
  });
}
