/** Ends the work of a call whose caller no longer waits for the reply. */
import { Code, HoltError } from "../../lib/errors.ts";
import type { Call } from "./call.ts";

/** For handlers that work in steps. @throws CANCELLED if the caller has disconnected or its deadline has passed */
export function assertConnected({ metadata }: Pick<Call, "metadata">): void {
  if (metadata.signal.aborted) throw new HoltError(Code.CANCELLED, "The caller disconnected");
}
