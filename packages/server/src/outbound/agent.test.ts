import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createOutboundClient } from "./client.ts";

const MINUTE_MS = 60_000;

/** The clock of undici's timeouts, which its own tests move, too. */
const undiciClock = createRequire(import.meta.url)("undici/lib/util/timers.js") as { tick(ms: number): void };

/** A timeout of undici begins with the first tick. */
function passTime(ms: number): void {
  undiciClock.tick(1);
  undiciClock.tick(ms);
}

test("a server may be silent for as long as the request allows, before its answer and within it", async () => {
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  await using client = createOutboundClient({ allowCidrs: ["127.0.0.0/8"] });
  const { promise: bodyBegun, resolve: onBodyBegun } = Promise.withResolvers<void>();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const answer = client.request({ url, timeoutMs: 30 * MINUTE_MS, onBody: async () => onBodyBegun() });
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  passTime(10 * MINUTE_MS);
  response.write("a");
  await Promise.race([bodyBegun, answer]);
  passTime(10 * MINUTE_MS);
  response.end("b");
  assert.equal((await answer).status, 200);
});
