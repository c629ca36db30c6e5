/** The id of a request, by which the server's log names it. */
import { ConnectError } from "@connectrpc/connect";

export const requestIdHeader = "x-request-id";

export function requestIdOf(error: unknown): string | undefined {
  return ConnectError.from(error).metadata.get(requestIdHeader) ?? undefined;
}
