/** Tests that callers who read a feed slowly, or wait for one, do not block other callers. Uses no database. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, it } from "node:test";
import { NO_ACCESS } from "../../../src/access/capabilities.ts";
import type { Principal } from "../../../src/access/principal.ts";
import type { Publication } from "../../../src/advisories/documents/publication.ts";
import type { Feed, Feeds } from "../../../src/advisories/feeds/feeds.ts";
import { createFeedsHandler, type FeedsHandlerOptions } from "../../../src/advisories/feeds/http/feeds-handler.ts";
import type { BlobStore } from "../../../src/blobs/store.ts";
import type { Store } from "../../../src/db/store.ts";
import { createCallerSlots } from "../../../src/http/caller-slots.ts";
import { createProtocolFrame } from "../../../src/http/protocol-frame.ts";
import { createCallLimit } from "../../../src/jobs/limit.ts";
import { unauthenticated } from "../../../src/lib/errors.ts";
import { createLog } from "../../../src/lib/log.ts";
import { vendorProfiles } from "../../../src/lib/vendor-profile.ts";
import { startTransports, type Transports } from "../../harness/transport-server.ts";
import { unaudited } from "../../harness/unaudited.ts";
import { until } from "../../harness/wait.ts";

/** More than the buffers of a connection hold. */
const SIZE = 64 * 1024 * 1024;
const LIST = `/holt/v1/feeds/${"a".repeat(40)}`;
const FEED = `${LIST}/osv.zip`;

describe("slow readers of feeds", () => {
  const data = { digest: `sha256:${"0".repeat(64)}`, size: SIZE };
  const feed: Feed = { group: "", build: "", data, sum: "sum", lastModified: new Date(0).toISOString() };
  const chunk = Buffer.alloc(65_536);
  const send: BlobStore["send"] = async (_digest, _range, begin) => {
    const chunks = Array.from({ length: SIZE / chunk.length }, () => chunk);
    await pipeline(Readable.from(chunks), begin()).catch(() => {});
  };

  /** All organizations are public, and a token is the uid of its caller. */
  function start(
    { slots = 2, slotsPerCaller = 2, ...options }: Partial<FeedsHandlerOptions> & { slots?: number; slotsPerCaller?: number },
    made: Feeds["feed"] = async () => feed,
  ): Promise<Transports> {
    const feeds = createFeedsHandler({
      frame: createProtocolFrame({
        limit: createCallLimit(slots),
        callerSlots: createCallerSlots(slotsPerCaller),
        log: createLog("silent"),
        ...unaudited,
      }),
      blobs: { send },
      feeds: { assertGroup: async () => {}, feed: made } as unknown as Feeds,
      publication: { isPublic: async () => true } as unknown as Publication,
      authenticator: {
        verify: async (uid) => (uid === "nonsense" ? Promise.reject(unauthenticated("no")) : ({ uid } as Principal)),
        load: async () => ({ exists: true, access: NO_ACCESS }),
      },
      store: {} as Store,
      profile: vendorProfiles.get("")!,
      baseUrl: "",
      transferIdleMs: 60_000,
      ...options,
    });
    return startTransports({ mounts: [{ paths: ["/holt/v1/feeds/*"], serve: feeds }] });
  }

  const bearer = (token: string): Record<string, string> => (token === "" ? {} : { authorization: `Bearer ${token}` });

  /** Resolves when the response has begun; reads nothing more. */
  async function readSlowly({ port }: Transports, token: string): Promise<Socket> {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    const lines = Object.entries({ host: "x", ...bearer(token) }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${FEED} HTTP/1.1\r\n${lines.join("")}\r\n`);
    const [head] = (await once(socket, "data")) as [Buffer];
    socket.pause();
    assert.match(head.toString("latin1"), /^HTTP\/1.1 200 /);
    return socket;
  }

  async function statusOf({ port }: Transports, token: string, path = LIST): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: bearer(token) });
    await response.arrayBuffer();
    return response.status;
  }

  async function untilServed(transports: Transports): Promise<void> {
    await until(async () => (await statusOf(transports, "")) === 200);
  }

  it("a caller has a limited number of concurrent downloads, and takes no slots of others", async () => {
    await using transports = await start({});
    const anonymous = [await readSlowly(transports, ""), await readSlowly(transports, "nonsense")];
    assert.equal(await statusOf(transports, ""), 429);
    assert.equal(await statusOf(transports, "nonsense"), 429);
    for (let i = 0; i < 2; i++) await readSlowly(transports, "alice");
    assert.equal(await statusOf(transports, "alice"), 429);
    assert.equal(await statusOf(transports, "bob"), 200);
    assert.equal(await statusOf(transports, "bob", FEED), 200);
    anonymous[0]?.destroy();
    await untilServed(transports);
  });

  it("anonymous callers who wait for a feed do not take slots of authenticated callers", async () => {
    let waiting = 0;
    await using transports = await start({ slots: 1 }, () => {
      waiting++;
      return new Promise<Feed>(() => {});
    });
    for (let i = 0; i < 2; i++) void statusOf(transports, "", FEED).catch(() => {});
    await until(() => waiting === 2);
    assert.equal(await statusOf(transports, ""), 429);
    assert.equal(await statusOf(transports, "bob"), 200);
    void statusOf(transports, "bob", FEED).catch(() => {});
    await until(() => waiting === 3);
    assert.equal(await statusOf(transports, "alice"), 429);
  });

  it("a download without progress is cut off", async () => {
    await using transports = await start({ slotsPerCaller: 1, transferIdleMs: 300 });
    const socket = await readSlowly(transports, "");
    const cutOff = once(socket, "close");
    await untilServed(transports);
    socket.resume();
    await cutOff;
  });
});
