/** Advisory mirrors of a world, and the feeds that they fetch. */
import { after, before } from "node:test";
import { type AdvisoryMirror, AdvisoryMirrorsService } from "@holt/api/gen/holt/v1/advisory_mirrors_pb.ts";
import { ImportKind } from "@holt/api/gen/holt/v1/imports_pb.ts";
import type { Capability } from "@holt/api/gen/platform/capabilities/capabilities_pb.ts";
import { until } from "../wait.ts";
import type { Caller, World } from "../world.ts";
import { entitleOwner } from "./entitle-owner.ts";
import { type FeedServer, startFeedServer } from "./feed-server.ts";
import { WRITER } from "./remote-client.ts";

const { createAdvisoryMirror, getAdvisoryMirror, runAdvisoryMirror } = AdvisoryMirrorsService.method;
const ADVISORIES = ImportKind.ADVISORIES;

export interface Feeds {
  readonly feed: FeedServer;
  /** A group, and somebody who may write advisories there. */
  place(capabilities?: readonly Capability[]): Promise<{ group: string; writer: Caller }>;
  make(group: string, path: string, token: string, interval?: bigint): Promise<AdvisoryMirror>;
  get(uid: string): Promise<AdvisoryMirror>;
  /** The mirror after its next attempt and what follows from it. */
  run(uid: string, token?: string, full?: boolean): Promise<AdvisoryMirror>;
  settled(uid: string, asked: () => boolean): Promise<AdvisoryMirror>;
}

export function prepareFeeds(world: World): Feeds {
  const feeds = {} as { feed: FeedServer };
  before(async () => {
    feeds.feed = await startFeedServer();
    await entitleOwner(world, world.orgUid);
  });
  after(() => feeds.feed[Symbol.asyncDispose]());
  const get = (uid: string) => world.must(getAdvisoryMirror, { uid });
  const pathOf = async (uid: string) => new URL((await get(uid)).url).pathname;
  const settled: Feeds["settled"] = async (uid, isAsked) => {
    await until(async () => isAsked() && (await isIdle(world, uid)));
    return get(uid);
  };
  return Object.assign(feeds, {
    async place(capabilities: readonly Capability[] = WRITER) {
      const group = await world.group(world.orgUid);
      return { group, writer: await world.robot(group, capabilities) };
    },
    async make(group: string, path: string, token: string, interval = 6n * 3600n) {
      const advisoryMirror = { name: "feed", url: feeds.feed.url + path, kind: ADVISORIES, interval: { seconds: interval } };
      return world.must(createAdvisoryMirror, { parent: group, advisoryMirror }, token);
    },
    get,
    settled,
    async run(uid: string, token = world.owner.token, full = false) {
      const path = await pathOf(uid);
      const before = feeds.feed.asked(path).length;
      await world.must(runAdvisoryMirror, { uid, full }, token);
      return settled(uid, () => feeds.feed.asked(path).length > before);
    },
  });
}

/** Neither fetched nor imported: one row says so, for one moment. */
async function isIdle({ store }: World, uid: string): Promise<boolean> {
  const { file, import_uid } = await store.reader
    .selectFrom("advisory_mirror_run")
    .select(["file", "import_uid"])
    .where("mirror_uid", "=", uid)
    .executeTakeFirstOrThrow();
  return file === null && import_uid === null;
}

/** From the clock's time to the next attempt. */
export function waitOf(world: World, { status: its }: AdvisoryMirror): number {
  return Number(its?.nextTime?.seconds) * 1000 + Math.floor((its?.nextTime?.nanos ?? 0) / 1e6) - world.clock.now().getTime();
}
