/** Sends a given number of requests to a server. Counts do not depend on how busy the machine is, as durations do. */
import { Agent, request as httpRequest } from "node:http";
import type { HoltServer } from "../process.ts";

export interface CallSpec {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The read of a group. */
export function readOf(group: string): CallSpec {
  return { method: "GET", path: `/iam/v2/groups/${group}` };
}

interface Called {
  readonly server: HoltServer;
  readonly spec: CallSpec;
}

/** Calls all servers at the same time, with as many connections in total, whatever their number. */
export async function callAll(called: readonly Called[], callsOfEach: number, connections: number): Promise<void> {
  const each = Math.ceil(connections / called.length);
  await Promise.all(called.map(({ server, spec }) => sendCalls(server, spec, callsOfEach, each)));
}

/** @throws on the first answer that is not a success */
async function sendCalls(server: HoltServer, spec: CallSpec, count: number, connections: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let left = count;
  const sendNext = async (): Promise<void> => {
    while (left-- > 0) await send(agent, server, spec);
  };
  try {
    await Promise.all(Array.from({ length: connections }, sendNext));
  } finally {
    agent.destroy();
  }
}

function send(agent: Agent, { port, token }: HoltServer, { method, path, headers: given, body = "" }: CallSpec): Promise<void> {
  const json = body === "" ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
  const headers = { authorization: `Bearer ${token}`, ...json, ...given };
  return new Promise((resolve, reject) => {
    const request = httpRequest({ agent, hostname: "127.0.0.1", port, method, path, headers }, (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () =>
        response.statusCode === 200 ? resolve() : reject(new Error(`${method} ${path}: ${String(response.statusCode)}`)),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}
