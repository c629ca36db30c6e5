/** A sink of events about groups, and the calls that cause them, for tests of which event a sink receives and when. */
import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestServer } from "../harness.ts";

export const settings = { HOLT_OUTBOUND_ALLOW_CIDRS: "127.0.0.0/8", HOLT_WEBHOOK_BACKOFF: "50ms,100ms" };
/** A sink that does not answer never frees what its delivery holds by itself. */
export const patientSettings = { ...settings, HOLT_WEBHOOK_TIMEOUT: "1h" };

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly name: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Sink extends AsyncDisposable {
  readonly url: string;
  readonly received: Received[];
  /** Names of the groups in the events at a path, in order of arrival. */
  names(path: string): string[];
}

type Answer = (received: Received, response: ServerResponse) => void;

export async function startSink(answer: Answer = (_, response) => response.end()): Promise<Sink> {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (some: string) => (text += some));
    request.on("end", () => {
      const { name = "" } = (JSON.parse(text) as { body: { name?: string } }).body;
      const one = { path: request.url ?? "", id: String(request.headers["ce-id"]), name, headers: request.headers };
      received.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    names: (path) => received.filter((one) => one.path === path && one.name !== "").map((one) => one.name),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type Reachable = Pick<TestServer, "baseUrl" | "token">;

export async function call(server: Reachable, method: string, path: string, body?: unknown): Promise<{ uid: string }> {
  const answer = await fetch(server.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${server.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text || "{}") as { uid: string };
}

export const subscribe = async (server: Reachable, group: string, sink: string) =>
  (await call(server, "POST", `/events/v2/subscriptions/${group}`, { sink })).uid;
export const makeGroup = async (server: Reachable, parent: string, name: string) =>
  (await call(server, "POST", `/iam/v2/groups/${parent}`, { name })).uid;
export const makeOrganization = async (server: Reachable, name: string) => (await call(server, "POST", "/iam/v2/groups", { name })).uid;
export const numbered = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `g${from + i}`);

export async function makeGroups(server: Reachable, parent: string, names: readonly string[]): Promise<void> {
  for (const name of names) await makeGroup(server, parent, name);
}
