/** Reads the event feed, and what it should contain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { EventsService, type ListEventsRequestSchema } from "@holt/api/gen/holt/v1/events_pb.ts";
import { isAtOrBelow } from "../../../src/lib/uid.ts";
import { answerOf, type Client } from "../clients.ts";
import { until } from "../wait.ts";
import type { World } from "../world.ts";

export type FeedRequest = MessageInitShape<typeof ListEventsRequestSchema>;

/** Reads the feed until it has no more events. */
export async function readFeed(
  client: Client,
  request: FeedRequest,
  token: string,
): Promise<{ ids: string[]; cursor: string; answers: number }> {
  const ids: string[] = [];
  for (let answers = 1, { cursor = "" } = request; ; answers++) {
    const answer = answerOf(await client.call(EventsService.method.listEvents, { ...request, cursor }, token));
    ids.push(...answer.events.map(({ id }) => id));
    cursor = answer.cursor;
    if (!answer.hasMore) return { ids, cursor, answers };
  }
}

/** The expected events of a group's feed in their order. */
export async function expectedEvents(
  world: World,
  group: string,
): Promise<{ id: string; position: number; type: string; subject: string; time: string }[]> {
  const query = world.store.reader.selectFrom("outbox").select(["id", "position", "type", "subject", "time", "group_uid"]);
  const rows = await query.where("audience", "=", "customer").where("position", "is not", null).orderBy("position").execute();
  return rows.filter((row) => isAtOrBelow(row.group_uid, group)).map((row) => ({ ...row, position: row.position as number }));
}

/** Waits until all events have their positions. */
export async function untilPublished({ store }: World): Promise<void> {
  const query = store.reader.selectFrom("outbox").select("seq").where("position", "is", null).limit(1);
  await until(async () => (await query.execute()).length === 0);
}
