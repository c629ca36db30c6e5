/** Reads the stored object again, without the cache. */
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";

export function useStored<Request extends DescMessage, Answer extends DescMessage>(
  method: DescMethodUnary<Request, Answer>,
  request: MessageInitShape<Request>,
): () => Promise<MessageShape<Answer>> {
  const transport = useTransport();
  return () => callUnaryMethod(transport, method, request);
}
