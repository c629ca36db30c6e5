/** Reads the object of a screen. While it cannot be read again, the screen keeps the object, and a form on it keeps its input. */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { type UseQueryOptions, useQuery } from "@connectrpc/connect-query";
import { isPassing } from "../session/transport.ts";

export interface ObjectQuery<Answer> {
  readonly data: Answer | undefined;
  /** Null while an earlier answer is shown instead of an error that may pass. */
  readonly error: ConnectError | null;
  readonly retry: () => void;
}

export function useObject<Request extends DescMessage, Answer extends DescMessage>(
  method: DescMethodUnary<Request, Answer>,
  request: MessageInitShape<Request>,
  options?: Pick<UseQueryOptions<Answer>, "refetchInterval">,
): ObjectQuery<MessageShape<Answer>> {
  const { data, error, refetch } = useQuery(method, request, options);
  const isKept = data !== undefined && error !== null && isPassing(error);
  return { data, error: isKept ? null : error, retry: () => void refetch() };
}
