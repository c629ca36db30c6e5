/** Deletes an object. Leaves its screen first, so that the screen does not reload a deleted object. */
import type { DescMessage, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { callUnaryMethod, useTransport } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";

export function useDelete<Request extends DescMessage, Answer extends DescMessage>(
  method: DescMethodUnary<Request, Answer>,
): (request: MessageInitShape<Request>, leave: () => Promise<void>) => Promise<void> {
  const transport = useTransport();
  const queryClient = useQueryClient();
  return async (request, leave) => {
    await callUnaryMethod(transport, method, request);
    // A list that was read before would show the object, and ask for more about it.
    queryClient.removeQueries({ type: "inactive" });
    await leave();
    await queryClient.invalidateQueries();
  };
}
