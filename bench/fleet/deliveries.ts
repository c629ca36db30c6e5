/**
 * Measures the extra cost of sharing a backlog of deliveries. Processes that compete for few processors take more CPU time
 * for the same work, and batch less of it, whether they share it or not. So each round measures servers that share a database,
 * and then as many servers that share nothing: those with a processor each would be as many times as fast as one of them.
 */
import { type Sink, startSink } from "../events/servers.ts";
import { type Line, median, short } from "../report.ts";
import { type Fleet, startFleet } from "./servers.ts";
import { measureIdle, spentDuring } from "./spent.ts";

export const SUBSCRIPTIONS = 32;
export const EVENTS = Number(process.env.BENCH_FLEET_EVENTS ?? 16_000);
/** Deliveries of each server before the measured ones: it compiles their code, and its connections plan their statements. */
export const WARM_UP_PER_SERVER = EVENTS / 4;
const ROUNDS = Number(process.env.BENCH_FLEET_ROUNDS ?? 5);

/** Fleets that work on a backlog together. */
interface Side {
  /** CPU time of servers and PostgreSQL per delivery, in milliseconds, without that of idle servers. */
  measure(): Promise<number>;
}

export async function sharedDeliveries(sizes: readonly number[]): Promise<Line[]> {
  const lines: Line[] = [];
  for (const size of sizes.filter((size) => size > 1)) {
    await using stack = new AsyncDisposableStack();
    const start = async (servers: number) => stack.use(await startFleet(servers));
    const sink = stack.use(await startSink());
    const shared = await prepareSide([await start(size)], sink);
    const alone = await prepareSide(await Promise.all(Array.from({ length: size }, () => start(1))), sink);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push({ shared: await shared.measure(), alone: await alone.measure() });
    const ratios = rounds.map((round) => round.shared / round.alone);
    const each = short(median(rounds.map((round) => round.shared)));
    const eachAlone = short(median(rounds.map((round) => round.alone)));
    const figure = `CPU time ${each} ms each, ${eachAlone} ms if they share nothing; ratios ${ratios.map(short).join(", ")}, median ${short(median(ratios))}`;
    lines.push({ measured: `${EVENTS} deliveries of a shared backlog, ${size} servers`, store: "postgres", figure });
  }
  return lines;
}

async function prepareSide(fleets: readonly Fleet[], sink: Sink): Promise<Side> {
  const backlogs = await Promise.all(fleets.map((fleet) => subscribe(fleet, sink.url, SUBSCRIPTIONS / fleets.length)));
  const servers = fleets.flatMap((fleet) => fleet.servers).length;
  async function deliver(events: number): Promise<void> {
    await sink.untilQuiet();
    await sink.reset();
    await Promise.all(backlogs.map((append) => append(events / fleets.length)));
    await sink.untilCount(events);
  }
  await deliver(WARM_UP_PER_SERVER * servers);
  // Autovacuum does it within a minute. Before, PostgreSQL plans for empty tables.
  for (const { client } of fleets) await client.query("analyze");
  return {
    async measure() {
      await sink.untilQuiet();
      const idle = await Promise.all(fleets.map(measureIdle));
      await sink.reset();
      const done = Promise.withResolvers<void>();
      const spent = Promise.all(fleets.map((fleet) => spentDuring(fleet, () => done.promise)));
      await Promise.all(backlogs.map((append) => append(EVENTS / fleets.length)));
      await sink.untilCount(EVENTS);
      done.resolve();
      const seconds = (await spent).map((one, i) => one.server + one.database - (idle[i]!.server + idle[i]!.database) * one.seconds);
      return (seconds.reduce((sum, one) => sum + one, 0) / EVENTS) * 1000;
    },
  };
}

/** @returns a function that appends events, in equal numbers for each subscription */
export async function subscribe(
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
