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
/** Without a budget the process keeps 3 MB for each page. With it, a caller has 64 MiB; the rest is generous. */
const MAX_MEMORY = 600 * MIB;

describe("a process whose clients do not read", () => {
  let folder: TemporaryFolder;
  let server: RunningServer;
  let token: string;
  before(async () => {
    folder = await temporaryFolder();
    // Answers that wait are kept for the whole test.
    server = await startHoltd({ HOLT_DATA_DIR: folder.path, HOLT_LOG_LEVEL: "silent", HOLT_READ_TIMEOUT: "1h" });
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

  /** Waits until the process has collected the garbage of answers that it did not send, while those that have begun wait. */
  async function assertBounded(attack: () => readonly Asking[]): Promise<void> {
    const clients = attack();
    await until(() => clients.every(({ hasBegun }) => hasBegun()));
    let bytes = 0;
    const isBounded = async () => {
      // The collector runs only while something happens.
      await get(server.baseUrl, "/iam/v2/groups?uidp.in_root=true", token);
      bytes = await memory();
      return bytes < MAX_MEMORY;
    };
    await until(isBounded).catch((cause: unknown) => {
      throw new Error(`the process takes ${Math.round(bytes / MIB)} MiB`, { cause });
    });
    for (const client of clients) client[Symbol.dispose]();
  }

  test("the memory of a process is bounded while connections of HTTP/1.1 do not read", () =>
    assertBounded(() => Array.from({ length: CONNECTIONS }, () => askOverHttp1(server.port, token))));

  test("the memory of a process is bounded while streams of HTTP/2 do not read", () =>
    assertBounded(() => Array.from({ length: CONNECTIONS / 100 }, () => askOverHttp2(server.port, token)).flat()));
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
