/** Reads the whole history of a tag, the newest digest first. */
import { callUnaryMethod, createConnectQueryKey, useTransport } from "@connectrpc/connect-query";
import { Registry, type TagHistory } from "@holt/api/gen/platform/registry/v1/registry_pb.ts";
import { useQuery } from "@tanstack/react-query";
import { timeText } from "../object/time.tsx";

const method = Registry.method.listTagHistory;
/** An answer has at most as many of the moves from a time on, oldest first. */
const MAX_MOVES = 1000;

export function useTagHistory(uid: string) {
  const transport = useTransport();
  return useQuery({
    queryKey: createConnectQueryKey({ schema: method, input: { parentId: uid }, transport, cardinality: "finite" }),
    queryFn: ({ signal }) => readHistory(transport, uid, signal),
  });
}

async function readHistory(transport: ReturnType<typeof useTransport>, parentId: string, signal: AbortSignal): Promise<TagHistory[]> {
  const moves = new Map<string, TagHistory>();
  let start: TagHistory["updateTimestamp"];
  for (;;) {
    const { items } = await callUnaryMethod(transport, method, { parentId, ...(start && { start }) }, { signal });
    // The moves at the time where an answer begins are in the one before, too.
    for (const item of items) moves.set(`${timeText(item.updateTimestamp)} ${item.digest}`, item);
    const last = items.at(-1)?.updateTimestamp;
    if (items.length < MAX_MOVES || timeText(last) === timeText(start)) return [...moves.values()].reverse();
    start = last;
  }
}
