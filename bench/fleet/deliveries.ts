/**
 * Measures the extra cost of sharing a backlog of deliveries. Processes that compete for few processors take more CPU time
 * for the same work, and batch less of it, whether they share it or not. So each round measures servers that share a database,
 * and then as many servers that share nothing: those with a processor each would be as many times as fast as one of them.
 */
import { type Sink, startSink } from "../events/servers.ts";
import { type Line, median, short } from "../report.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { measureIdle, secondsBeyondIdle, spentDuring } from "./spent.ts";

const SUBSCRIPTIONS = 32;
export const EVENTS = Number(process.env.BENCH_FLEET_EVENTS ?? 16_000);
/**
 * Deliveries of each server before the measured ones: it compiles their code, and its connections plan their statements.
 * As many as are measured, because one of several servers only has its part of those.
 */
const WARM_UP_PER_SERVER = EVENTS;
export const ROUNDS = Number(process.env.BENCH_FLEET_ROUNDS ?? 5);

export async function sharedDeliveries(sizes: readonly number[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const size of sizes.filter((size) => size > 1)) {
    await using stack = new AsyncDisposableStack();
    const start = async (servers: number) => stack.use(await startFleet(servers));
    const sink = stack.use(await startSink());
    const prepare = async (fleets: readonly Fleet[]) => {
      const backlog = await openBacklog(fleets, sink);
      return () => measure(fleets, backlog);
    };
    const shared = await prepare([await start(size)]);
    const alone = await prepare(await Promise.all(Array.from({ length: size }, () => start(1))));
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push({ shared: await shared(), alone: await alone() });
    const ratios = rounds.map((round) => round.shared / round.alone);
    const each = short(median(rounds.map((round) => round.shared)));
    const eachAlone = short(median(rounds.map((round) => round.alone)));
    const figure = `CPU time ${each} ms each, ${eachAlone} ms if they share nothing; ratios ${ratios.map(short).join(", ")}, median ${short(median(ratios))}`;
    lines.push({ measured: `${EVENTS} deliveries of a shared backlog, ${size} servers`, store: "postgres", figure });
  }
  return lines;
}

/** CPU time of servers and PostgreSQL per delivery, in milliseconds, without that of idle servers. */
async function measure(fleets: readonly Fleet[], backlog: Backlog): Promise<number> {
  await backlog.settle();
  const idle = await Promise.all(fleets.map(measureIdle));
  const done = Promise.withResolvers<void>();
  const spent = Promise.all(fleets.map((fleet) => spentDuring(fleet, () => done.promise)));
  await backlog.deliver(EVENTS);
  done.resolve();
  const seconds = (await spent).map((one, i) => secondsBeyondIdle(one, idle[i]!));
  return (seconds.reduce((sum, one) => sum + one, 0) / EVENTS) * 1000;
}

/** Deliveries of fleets that work on them at the same time. */
export interface Backlog {
  /** Waits until nothing arrives any more. */
  settle(): Promise<void>;
  /** Appends events, and waits until so many have arrived since `settle`. */
  deliver(events: number): Promise<void>;
}

/** Subscribes the sink to events of the fleets, and lets the servers warm up. */
export async function openBacklog(fleets: readonly Fleet[], sink: Sink): Promise<Backlog> {
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
  return { settle, deliver };
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
