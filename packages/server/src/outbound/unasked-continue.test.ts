import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createOutboundClient, type OutboundClient } from "./client.ts";
import type { OutboundResponse } from "./outbound-request.ts";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

interface Sink extends AsyncDisposable {
  post(client: OutboundClient): Promise<OutboundResponse>;
  readonly connections: number;
}

/** Answers each request with the same bytes, and keeps its connections. */
async function startSink(answer: (socket: Socket) => unknown): Promise<Sink> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.setNoDelay().on("data", () => answer(socket));
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    post: (client) => client.request({ url, method: "POST", body: "{}" }),
    get connections() {
      return connections;
    },
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

const startClient = () => createOutboundClient({ allowCidrs: ["127.0.0.0/8"] });

async function writeByteByByte(socket: Socket, text: string): Promise<void> {
  for (const character of text) {
    socket.write(character);
    await nextTurn();
  }
}

const interim = {
  "one response of status 100": CONTINUE,
  "two responses of status 100": CONTINUE + CONTINUE,
  "a response of status 100 with headers": "HTTP/1.1 100 Continue\r\nx-status: HTTP/1.1 100\r\nserver: a\r\n\r\n",
  "a response of status 100 without a reason": "HTTP/1.1 100 \r\n\r\n",
  "a response of status 100 after early hints": `HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${CONTINUE}`,
};

for (const [what, before] of Object.entries(interim)) {
  test(`${what} may come before an answer`, async () => {
    await using sink = await startSink((socket) => socket.write(before + OK));
    await using client = startClient();
    for (let i = 0; i < 3; i++) {
      const { status, body } = await sink.post(client);
      assert.deepEqual([status, body.toString()], [200, "ok"]);
    }
    assert.ok(sink.connections <= 2, "connections are used again");
  });

  test(`${what} may come before an answer, byte by byte`, async () => {
    await using sink = await startSink((socket) => writeByteByByte(socket, before + OK));
    await using client = startClient();
    assert.equal((await sink.post(client)).status, 200);
  });
}

test("a body that looks like a response of status 100 is not changed", async () => {
  await using sink = await startSink((socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${CONTINUE.length}\r\n\r\n${CONTINUE}`));
  await using client = startClient();
  assert.equal((await sink.post(client)).body.toString(), CONTINUE);
});

test("a server that sends responses of status 100 without an end is given up", async () => {
  await using sink = await startSink((socket) => socket.write(CONTINUE.repeat(100)));
  await using client = startClient();
  await assert.rejects(sink.post(client), /sent more than 16 interim responses/);
});
