/** Deliveries of one or several fleets, each of which works on a backlog of its own. */
import type { Sink } from "../events/servers.ts";
import type { Fleet } from "./servers.ts";
import type { Work } from "./work.ts";

/** All fleets together have so many. */
const SUBSCRIPTIONS = 32;
const EVENTS = Number(process.env.BENCH_FLEET_EVENTS ?? 16_000);
/**
 * Deliveries of each server before the measured ones: it compiles their code, and its connections plan their statements.
 * As many as are measured, because one of several servers only has its part of those.
 */
const WARM_UP_PER_SERVER = EVENTS;

/** Subscribes the sink to events of the fleets, and lets the servers warm up. */
export async function deliveries(fleets: readonly Fleet[], sink: Sink): Promise<Work> {
  const backlogs = await Promise.all(fleets.map((fleet) => subscribe(fleet, sink.url, SUBSCRIPTIONS / fleets.length)));
  const settle = async () => {
    await sink.untilQuiet();
    await sink.reset();
  };
  const deliver = async (events: number) => {
    await Promise.all(backlogs.map((append) => append(events / fleets.length)));
    await sink.untilCount(events);
  };
  await settle();
  await deliver(WARM_UP_PER_SERVER * fleets.flatMap(({ servers }) => servers).length);
  // Autovacuum does it within a minute. Before, PostgreSQL plans for empty tables.
  for (const { client } of fleets) await client.query("analyze");
  return { kind: "deliveries", count: EVENTS, prepare: settle, run: () => deliver(EVENTS) };
}

/** @returns a function that appends events, in equal numbers for each subscription */
async function subscribe(
  { organization, post, client }: Fleet,
  sinkUrl: string,
  count: number,
): Promise<(events: number) => Promise<void>> {
  const groups: string[] = [];
  for (let i = 0; i < count; i++) {
    const { uid } = await post(`/iam/v2/groups/${organization}`, { name: `sink-${i}` });
    await post(`/events/v2/subscriptions/${uid}`, { sink: `${sinkUrl}/${i}` });
    groups.push(uid);
  }
  return async (events) => {
    await client.query(
      `insert into outbox (id, type, source, subject, group_uid, time, audience, body_type, extensions, data)
      select gen_random_uuid()::text, 'dev.holt.api.iam.identity.created.v1', 'http://127.0.0.1', ($1::text[])[n % $2 + 1],
        ($1::text[])[n % $2 + 1], to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'customer',
        'platform.iam.v2.Identity', '{}', json_build_object('body', json_build_object('name', repeat('x', 900)))::text
      from generate_series(1, $3::int) as n`,
      [groups, groups.length, events],
    );
  };
}
