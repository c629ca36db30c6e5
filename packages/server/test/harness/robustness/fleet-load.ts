/** Load on the servers of a fleet, which records what was acknowledged: groups, images, and a reader of the feed. */
import { basic, createRegistryClient } from "../registry/registry-client.ts";
import { giveTime, until } from "../wait.ts";
import type { Fleet } from "./fleet.ts";

export interface Load {
  /** Names of groups whose creation was acknowledged. */
  readonly acknowledged: ReadonlySet<string>;
  /** Names of groups whose creation got no answer, or one that says that its outcome is unknown. */
  readonly unknown: ReadonlySet<string>;
  /** Names of groups whose creation was refused with nothing changed. */
  readonly refused: ReadonlySet<string>;
  /** Tags of images whose push was acknowledged. */
  readonly images: ReadonlySet<string>;
  /** Ids of events in the order of the feed, which was read from one server after the other. */
  readonly feed: readonly string[];
  /** Writers pause for this time after each write from now on; 0 at first. Saves CPU time while a test only lets time pass. */
  pause(ms: number): void;
  /** Waits until each of these servers has acknowledged further writes. */
  progress(...members: number[]): Promise<void>;
  /** Ends the writers, and the reader once the condition holds. */
  end(isRead: () => Promise<boolean>): Promise<void>;
}

export const REPOSITORY = "my-org/app";
const FURTHER_WRITES = 15;

export function startLoad({ members, token, orgUid }: Fleet): Load {
  const [acknowledged, unknown, refused, images] = [new Set<string>(), new Set<string>(), new Set<string>(), new Set<string>()];
  const counts = members.map(() => 0);
  const feed: string[] = [];
  let isOver = false;
  let isRead = false;
  let pauseMs = 0;
  const headers = { authorization: `Bearer ${token}` };

  async function write(url: string, index: number): Promise<void> {
    for (let i = 0; !isOver; i++) {
      const name = `group-${index}-${i}`;
      const body = JSON.stringify({ name });
      const answer = await fetch(`${url}/iam/v2/groups/${orgUid}`, { method: "POST", headers, body }).catch(() => undefined);
      const text = await answer?.text().catch(() => undefined);
      if (answer?.status === 200) {
        acknowledged.add(name);
        counts[index]!++;
        if (pauseMs > 0) await giveTime(pauseMs);
        continue;
      }
      if (answer !== undefined && ![429, 503].includes(answer.status)) throw new Error(`${name}: ${answer.status} ${text}`);
      const isRefused = text !== undefined && !/may or may not have taken effect/.test(text);
      (isRefused ? refused : unknown).add(name);
      await giveTime(50);
    }
  }

  async function push(url: string, index: number): Promise<void> {
    using client = createRegistryClient(url, basic("_token", token));
    for (let i = 0; !isOver; i++) {
      const tag = `image-${index}-${i}`;
      await client.image(REPOSITORY, tag).then(
        () => images.add(tag),
        () => giveTime(100),
      );
      await giveTime(200);
    }
  }

  async function read(): Promise<void> {
    for (let cursor = "", server = 0; !isRead; server++) {
      const path = `/holt/v1/events/${orgUid}?page_size=100&cursor=${encodeURIComponent(cursor)}`;
      const answer = await fetch(members[server % members.length]!.url + path, { headers, signal: AbortSignal.timeout(100_000) }).catch(
        () => undefined,
      );
      const page =
        answer?.status === 200 ? ((await answer.json()) as { events: { id: string }[]; cursor: string; hasMore: boolean }) : undefined;
      if (page !== undefined) {
        feed.push(...page.events.map(({ id }) => id));
        cursor = page.cursor;
      }
      if (!page?.hasMore) await giveTime(100);
    }
  }

  const writers = Promise.all(members.flatMap(({ url }, index) => [write(url, index), push(url, index)]));
  const reader = read();
  for (const running of [writers, reader]) running.catch(() => {});
  return {
    ...{ acknowledged, unknown, refused, images, feed },
    pause(ms) {
      pauseMs = ms;
    },
    async progress(...wanted) {
      const before = [...counts];
      const further = () => wanted.every((index) => counts[index]! >= before[index]! + FURTHER_WRITES);
      await Promise.race([until(further), writers]);
    },
    async end(isComplete) {
      isOver = true;
      await writers;
      await Promise.race([until(isComplete), reader]).finally(() => {
        isRead = true;
      });
      await reader;
    },
  };
}
