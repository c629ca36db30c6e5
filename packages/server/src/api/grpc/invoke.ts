/** Runs an operation for a caller of gRPC, and bounds how long that caller waits. */
import type { Message } from "@bufbuild/protobuf";
import { messageFromJson } from "../../lib/proto-json.ts";
import { type CallMetadata, JsonText, type MessageSource } from "../call/call.ts";
import type { Operation } from "../call/operation.ts";
import type { Run } from "../call/run.ts";

/** The reply as a message, which is what every protocol of gRPC sends. */
export async function invoke(run: Run, operation: Operation, source: MessageSource, metadata: CallMetadata): Promise<Message> {
  const reply = await run(operation, source, metadata);
  return reply instanceof JsonText ? messageFromJson(operation.method.output, reply.text) : reply;
}

/** The same result, or a rejection with the signal's reason, whichever comes first. */
export function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    result.then(resolve, reject);
  });
}
