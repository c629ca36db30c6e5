import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { createCallerSlots } from "../../src/http/caller-slots.ts";
import { send } from "../../src/http/http-exchange.ts";
import { createProtocolFrame, type Protocol } from "../../src/http/protocol-frame.ts";
import type { TransportLimits } from "../../src/http/transport-limits.ts";
import { createCallLimit } from "../../src/jobs/limit.ts";
import { HoltError } from "../../src/lib/errors.ts";
import type { Log } from "../../src/lib/log.ts";
import { openSocket } from "../harness/raw-clients.ts";
import { headersOf, openWithoutWindow } from "../harness/slow-clients.ts";
import { startTransports, type Transports } from "../harness/transport-server.ts";
import { unaudited } from "../harness/unaudited.ts";
import { until } from "../harness/wait.ts";

interface Line {
  readonly level: "info" | "error";
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** Serves the protocol below `/holt/v1/feeds/`. */
async function start(
  protocol: Partial<Protocol<undefined>>,
  { slots = 1, limits = {} }: { slots?: number; limits?: Partial<TransportLimits> } = {},
): Promise<{ transports: Transports; url: string; lines: Line[] }> {
  const lines: Line[] = [];
  const logAt = (level: Line["level"]) => (fields: Record<string, unknown>, message: string) => lines.push({ level, message, fields });
  const log = { info: logAt("info"), error: logAt("error") } as unknown as Log;
  const serve = createProtocolFrame({ limit: createCallLimit(slots), callerSlots: createCallerSlots(1), log, ...unaudited })({
    name: "sample",
    createState: () => undefined,
    serve: ({ response }) => send(response, 200, { type: "text/plain", text: "served" }),
    refuse: ({ response }, error) => send(response, error instanceof HoltError ? 429 : 500, { type: "text/plain", text: "refused" }),
    ...protocol,
  });
  const transports = await startTransports({ mounts: [{ paths: ["/holt/v1/feeds/*"], serve }], limits });
  return { transports, url: `http://127.0.0.1:${transports.port}/holt/v1/feeds/x`, lines };
}

test("the log has one line per request with its method, status, duration, caller, address, and the fields of the protocol", async () => {
  const { transports, url, lines } = await start({
    serve(exchange) {
      exchange.principal = "alice";
      send(exchange.response, 201, { type: "text/plain", text: "" });
    },
    logFields: ({ path, query }) => ({ path, query }),
  });
  await using _transports = transports;
  await (await fetch(`${url}?a=b?c`, { method: "PUT" })).text();
  assert.equal(lines.length, 1);
  const { level, message, fields } = lines[0]!;
  const { ms, ...others } = fields;
  assert.deepEqual([level, message], ["info", "sample"]);
  assert.deepEqual(others, {
    method: "PUT",
    status: 201,
    principal: "alice",
    remote: "127.0.0.1",
    path: "/holt/v1/feeds/x",
    query: "a=b?c",
  });
  assert.ok(typeof ms === "number" && ms >= 0);
});

test("an error that the protocol throws is answered by the protocol, and its slot is free again", async () => {
  const { transports, url, lines } = await start({ serve: () => Promise.reject(new Error("broken")) });
  await using _transports = transports;
  for (let i = 0; i < 3; i++) assert.equal((await fetch(url)).status, 500);
  assert.deepEqual(
    lines.map(({ message, fields }) => [message, fields.status]),
    [
      ["sample", 500],
      ["sample", 500],
      ["sample", 500],
    ],
  );
});

test("a request that fails after its headers were sent is cut off, and logged as an error", async () => {
  const { transports, url, lines } = await start({
    async serve({ response }) {
      response.setHeader("content-length", "100");
      await new Promise<void>((resolve) => (response as NodeJS.WritableStream).write("some", () => resolve()));
      throw new Error("broken");
    },
  });
  await using _transports = transports;
  await assert.rejects(fetch(url).then((response) => response.text()));
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [
      ["error", "a response broke off"],
      ["info", "sample"],
    ],
  );
});

test("a protocol that cannot write its own error costs the client this response only", async () => {
  let isBroken = true;
  const { transports, url, lines } = await start({
    async serve({ response }) {
      if (isBroken) throw new Error("broken");
      send(response, 200, { type: "text/plain", text: "" });
    },
    refuse() {
      throw new Error("also broken");
    },
  });
  await using _transports = transports;
  await assert.rejects(fetch(url));
  assert.equal(lines[0]?.message, "a request failed because of an error of the server");
  isBroken = false;
  assert.equal((await fetch(url)).status, 200);
});

test("a request that is still being read for an anonymous caller holds no slot", async (t) => {
  let reading = 0;
  const { transports, url } = await start({
    async read({ method, request }) {
      if (method !== "POST") return;
      reading++;
      await once(request.resume(), "end");
    },
  });
  await using _transports = transports;
  const slow = openSocket(transports.port);
  t.after(() => slow.destroy());
  slow.write("POST /holt/v1/feeds/x HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\na");
  await until(async () => reading === 1);
  assert.equal((await fetch(url)).status, 200);
});

test("a request that released its slot early does not count against the limit", async () => {
  const sending = Promise.withResolvers<void>();
  let isFirst = true;
  const { transports, url } = await start({
    async serve(exchange) {
      if (isFirst) {
        isFirst = false;
        exchange.releaseSlot();
        await sending.promise;
      }
      send(exchange.response, 200, { type: "text/plain", text: "" });
    },
  });
  await using _transports = transports;
  const slow = fetch(url);
  await until(async () => !isFirst);
  assert.equal((await fetch(url)).status, 200);
  sending.resolve();
  assert.equal((await slow).status, 200);
});

test("content that does not fit beside unread content of its caller is refused, without the headers of the content", async () => {
  const content = "x".repeat(2 * 1024 * 1024);
  const limits = { answerBytesPerCaller: 3 * 1024 * 1024 };
  const { transports } = await start(
    {
      serve(exchange) {
        exchange.identify("alice");
        exchange.response.setHeader("etag", '"x"');
        exchange.response.end(exchange.method === "POST" ? "written" : content);
      },
    },
    { limits },
  );
  await using _transports = transports;
  await using session = openWithoutWindow(transports.port);
  const ask = async (method: string) => {
    const headers = await headersOf(session, { ":method": method, ":path": "/holt/v1/feeds/x" });
    return [headers[":status"], headers.etag];
  };
  assert.deepEqual(await ask("GET"), [200, '"x"']);
  assert.deepEqual(await ask("GET"), [429, undefined]);
  assert.deepEqual(await ask("POST"), [200, '"x"']);
});

test("transfers hold slots of their caller and none of the process, and take the slot of the process again", async () => {
  const transfers: PromiseWithResolvers<void>[] = [];
  const { transports, url } = await start({
    async serve(exchange) {
      exchange.identify(exchange.query);
      if (exchange.method === "PUT") {
        const transfer = Promise.withResolvers<void>();
        await exchange.transfer(() => {
          transfers.push(transfer);
          return transfer.promise;
        });
      }
      send(exchange.response, 200, { type: "text/plain", text: "" });
    },
  });
  await using _transports = transports;
  const ask = async (method: string, caller: string) => (await fetch(`${url}?${caller}`, { method })).status;
  const first = ask("PUT", "alice");
  await until(() => transfers.length === 1);
  assert.equal(await ask("PUT", "alice"), 429);
  const second = ask("PUT", "bob");
  await until(() => transfers.length === 2);
  assert.equal(await ask("GET", "alice"), 200);
  for (const transfer of transfers) transfer.resolve();
  assert.deepEqual(await Promise.all([first, second]), [200, 200]);
  assert.equal(await ask("GET", "alice"), 200);
});
