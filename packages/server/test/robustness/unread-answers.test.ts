/** Clients that ask for large answers and never read them cost the process a bounded amount of memory. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { ClientHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { get, printedToken, type RunningServer, startHoltd, type TemporaryFolder, temporaryFolder } from "../harness/holtd.ts";
import { openHttp2, openSocket } from "../harness/raw-clients.ts";
import { until } from "../harness/wait.ts";

const CONNECTIONS = 400;
const REPOS = 60;
/** Repos of about 60 kB. */
const ACTIVE_TAGS = Array.from({ length: 450 }, (_, i) => String(i).padStart(128, "t"));
const PAGE = "/registry/v2/repos?page_size=200";
const MIB = 1024 * 1024;
/**
 * Without a budget the process grows by 3 MB per page. With it, a caller has 64 MiB; the rest is generous. Not a limit of the growth:
 * how much memory the process has before depends on when it collects garbage.
 */
const MAX_MEMORY = 600 * MIB;

describe("a process whose clients do not read", () => {
  let folder: TemporaryFolder;
  let server: RunningServer;
  let token: string;
  before(async () => {
    folder = await temporaryFolder();
    server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_LOG_LEVEL: "silent" });
    const settings = { HOLT_DATA_DIR: folder.path, HOLT_LISTEN: `127.0.0.1:${server.port}`, HOLT_LOG_LEVEL: "silent" };
    token = await printedToken(settings);
    const { json } = await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
    const { groups } = json as { groups: readonly { uid: string }[] };
    for (let i = 0; i < REPOS; i++) await createRepo(groups[0]!.uid, `repo-${i}`);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  async function createRepo(group: string, name: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ name, activeTags: ACTIVE_TAGS });
    const answer = await fetch(`${server.baseUrl}/registry/v2/repos/${group}`, { method: "POST", headers, body });
    assert.equal(answer.status, 200, await answer.text());
  }

  async function memory(): Promise<number> {
    const status = await readFile(`/proc/${server.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** @returns the memory of the process while the answers have begun and wait */
  async function memoryDuring(attack: () => Promise<readonly Disposable[]>): Promise<number> {
    const clients = await attack();
    const bytes = await memory();
    for (const client of clients) client[Symbol.dispose]();
    return bytes;
  }

  test("the memory of a process is bounded while connections of HTTP/1.1 do not read", async () => {
    const bytes = await memoryDuring(async () => {
      const sockets = Array.from({ length: CONNECTIONS }, () => askOverHttp1(server.port, token));
      await until(() => sockets.every(({ hasBegun }) => hasBegun()), 120_000);
      return sockets;
    });
    assert.ok(bytes < MAX_MEMORY, `the process takes ${Math.round(bytes / MIB)} MiB`);
  });

  test("the memory of a process is bounded while streams of HTTP/2 do not read", async () => {
    const bytes = await memoryDuring(async () => {
      const streams = Array.from({ length: CONNECTIONS / 100 }, () => askOverHttp2(server.port, token)).flat();
      await until(() => streams.every(({ hasBegun }) => hasBegun()), 120_000);
      return streams;
    });
    assert.ok(bytes < MAX_MEMORY, `the process takes ${Math.round(bytes / MIB)} MiB`);
  });
});

interface Asking extends Disposable {
  hasBegun(): boolean;
}

function askOverHttp1(port: number, token: string): Asking {
  const socket: Socket = openSocket(port);
  let hasBegun = false;
  socket.write(`GET ${PAGE} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${token}\r\n\r\n`);
  socket.once("data", () => {
    hasBegun = true;
    socket.pause();
  });
  socket.once("close", () => {
    hasBegun = true;
  });
  return { hasBegun: () => hasBegun, [Symbol.dispose]: () => socket.destroy() };
}

/** As many streams as a connection may have. */
function askOverHttp2(port: number, token: string): readonly Asking[] {
  const session = openHttp2(port);
  return Array.from({ length: 100 }, () => {
    let hasBegun = false;
    const stream: ClientHttp2Stream = session.request({ ":path": PAGE, authorization: `Bearer ${token}` });
    stream.on("error", () => {});
    stream.once("response", () => {
      hasBegun = true;
    });
    stream.once("close", () => {
      hasBegun = true;
    });
    return { hasBegun: () => hasBegun, [Symbol.dispose]: () => session.destroy() };
  });
}
